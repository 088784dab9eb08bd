#include "client/cli/output.h"

#include <sstream>

#include "client/cli/json_text.h"
#include "gtest/gtest.h"
#include "snowlease/v1/admin.pb.h"

namespace snowlease::cli {
namespace {

v1::ListLeasesResponse Leases() {
  v1::ListLeasesResponse response;
  auto* lease = response.add_leases();
  lease->set_namespace_("a \"b\"\n");
  lease->set_machine_id(0);
  lease->set_token(9007199254740993);
  (*lease->mutable_metadata())["true"] = "no";
  response.add_leases()->set_machine_id(1);
  response.set_next_page_token("");
  return response;
}

TEST(OutputTest, ColumnsAreAligned) {
  Table table({"ID", "NAME"});
  table.Add({"1", "ä"});
  table.Add({"12345", ""});
  EXPECT_EQ(table.Text(true), "ID     NAME\n1      ä\n12345  -\n");
  EXPECT_EQ(table.Text(false), "1      ä\n12345  -\n");
}

// F41
TEST(OutputTest, JsonIsProtobufJson) {
  EXPECT_EQ(PrettyJson(ToJson(Leases())), R"({
  "leases": [
    {
      "namespace": "a \"b\"\n",
      "machineId": 0,
      "token": "9007199254740993",
      "metadata": {
        "true": "no"
      }
    },
    {
      "machineId": 1
    }
  ]
}
)");
  EXPECT_EQ(PrettyJson("{}"), "{}\n");
  EXPECT_EQ(PrettyJson(R"({"a":[],"b":{},"c":-1.5})"),
            "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": -1.5\n}\n");
}

TEST(OutputTest, YamlQuotesWhatYamlWouldReadAsSomethingElse) {
  EXPECT_EQ(ToYaml(ToJson(Leases())), R"(leases:
  - namespace: "a \"b\"\n"
    machineId: 0
    token: "9007199254740993"
    metadata:
      "true": "no"
  - machineId: 1
)");
  EXPECT_EQ(ToYaml("{}"), "{}\n");
  EXPECT_EQ(ToYaml(R"({"a":[],"b":{},"c":[1,[2,3]]})"),
            "a: []\nb: {}\nc:\n  - 1\n  - - 2\n    - 3\n");
}

TEST(OutputTest, JsonObjectsKeepOrderAndEscape) {
  EXPECT_EQ(JsonObject()
                .Text("b", "x\"\\\t")
                .Integer64("a", 9007199254740993)
                .Number("n", 1.5)
                .Boolean("t", true)
                .Raw("l", JsonArray({"1", "2"}))
                .Json(),
            R"({"b":"x\"\\\u0009","a":"9007199254740993","n":1.5,"t":true,"l":[1,2]})");
}

TEST(OutputTest, EnumNamesLoseTheirPrefix) {
  EXPECT_EQ(WithoutPrefix("LEASE_STATE_FREE", "LEASE_STATE_"), "FREE");
  EXPECT_EQ(WithoutPrefix("", "LEASE_STATE_"), "");
}

}  // namespace
}  // namespace snowlease::cli
