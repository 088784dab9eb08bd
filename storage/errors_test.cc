#include "storage/errors.h"

#include <gtest/gtest.h>

namespace snowlease::storage {
namespace {

TEST(Errors, KeepReasonMetadataAndDelay) {
  const absl::Status status = OverloadedError("queue full", Millis(250));
  EXPECT_EQ(ReasonOf(status), Reason::kOverloaded);
  EXPECT_EQ(RetryAfterOf(status), Millis(250));
  EXPECT_TRUE(MetadataOf(status).empty());
}

TEST(Errors, AStatusThatNoFactoryMadeIsInternal) {
  EXPECT_EQ(ReasonOf(absl::OkStatus()), Reason::kNone);
  EXPECT_EQ(ReasonOf(absl::CancelledError("x")), Reason::kInternal);
}

TEST(Errors, EveryReasonHasItsOwnName) {
  std::map<std::string, Reason> names;
  for (int i = 0; i <= static_cast<int>(Reason::kInternal); ++i) {
    const Reason reason = static_cast<Reason>(i);
    EXPECT_TRUE(names.emplace(ReasonName(reason), reason).second) << ReasonName(reason);
  }
}

TEST(Errors, LossCausesComeBackAsTheyWentIn) {
  for (const EndCause cause : {EndCause::kSuperseded, EndCause::kTakenOver, EndCause::kReleased,
                               EndCause::kRevoked, EndCause::kUnknown}) {
    EXPECT_EQ(LossCauseOf(MachineIdLostError(cause, {"shop", 3, "a", 7})), cause);
  }
  EXPECT_EQ(LossCauseOf(DrainingError()), EndCause::kNone);
}

TEST(Errors, AllFieldViolationsAreKeptInOrderWhateverTheirBytes) {
  const std::string hostile("a\0:b\n7:", 7);
  const absl::Status status =
      InvalidArgumentError({{"namespace", hostile}, {"bits", "0 is no size"}});
  const auto violations = FieldViolationsOf(status);
  ASSERT_EQ(violations.size(), 2u);
  EXPECT_EQ(violations[0].field, "namespace");
  EXPECT_EQ(violations[0].description, hostile);
  EXPECT_EQ(violations[1].field, "bits");
  EXPECT_TRUE(MetadataOf(status).empty());
}

TEST(Errors, OverflowNamesNamespaceSizeAndCounts) {
  NamespaceRow row;
  row.name = "shop";
  row.counts.held = 1020;
  row.counts.reserved = 4;
  const absl::Status status =
      MachineIdOverflowError(row, 1024, StoreTime{5'000}, StoreTime{2'000}, false);
  const ErrorMetadata metadata = MetadataOf(status);
  EXPECT_EQ(metadata.at("namespace"), "shop");
  EXPECT_EQ(metadata.at("size"), "1024");
  EXPECT_EQ(metadata.at("held"), "1020");
  EXPECT_EQ(metadata.at("reserved"), "4");
  EXPECT_EQ(metadata.at("next_expiry_ms"), "5000");
  EXPECT_EQ(RetryAfterOf(status), Millis(3'000));
}

}  // namespace
}  // namespace snowlease::storage
