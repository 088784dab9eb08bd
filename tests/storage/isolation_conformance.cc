#include "tests/storage/lease_store_conformance.h"

// N1: nothing done in one namespace shows in another, whatever the names.

namespace snowlease::testing {
namespace {

const std::vector<std::string>& HostileNames() {
  static const std::vector<std::string> names = {
      "a",
      "ab",
      "A",
      "a.b",
      "a__b",
      "a%",
      "a_",
      "a ",
      " a",
      "a\\",
      "a'--",
      "a\";",
      "a/b",
      "{a}",
      "a:b",
      "NULL",
      "\xC3\xA9",   // e acute, composed
      "e\xCC\x81",  // the same letter, decomposed
      "\xF0\x9F\x98\x80",
      "\xF0\x9F\x98\x81",
      std::string(200, 'x'),
      std::string(199, 'x') + "y",
  };
  return names;
}

TEST_P(LeaseStoreConformance, HostileNamespacesAreIsolated) {
  std::vector<Lease> leases;
  for (const std::string& name : HostileNames()) {
    ClaimSpec spec = Spec("same instance", 1);
    spec.name_space = name;
    leases.push_back(Claimed(spec));
    EXPECT_EQ(leases.back().row.machine_id, 0u) << name;
    EXPECT_EQ(leases.back().row.token, 1u) << name;
  }
  const auto listed = store().ListNamespaces("", 1000);
  ASSERT_THAT(listed, IsOk());
  std::vector<std::string> names;
  for (const storage::NamespaceRow& row : *listed) names.push_back(row.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAreArray(HostileNames()));

  // Everything that can be done to one of them leaves all others as they are.
  for (size_t i = 0; i < leases.size(); ++i) {
    std::vector<std::string> before;
    for (const std::string& name : HostileNames()) before.push_back(Describe(Rows(name)));
    const std::string& name = HostileNames()[i];
    Renewed(KeyOf(leases[i]), Now());
    ASSERT_THAT(Raise(KeyOf(leases[i]), Now()), IsOk());
    const std::vector<uint32_t> ids = {1};
    ASSERT_THAT(store().ReserveIds(name, ids, kOperator), IsOk());
    ASSERT_THAT(store().UnreserveIds(name, ids, ClientTime{0}, kOperator), IsOk());
    ClaimSpec second = Spec("second", 1);
    second.name_space = name;
    Released(KeyOf(Claimed(second)), Now());
    for (size_t other = 0; other < leases.size(); ++other) {
      if (other == i) continue;
      ASSERT_EQ(Describe(Rows(HostileNames()[other])), before[other]) << name;
    }
  }
}

// F15: clearing `a` leaves `ab`.
TEST_P(LeaseStoreConformance, DeletingOneHostileNamespaceLeavesTheOthers) {
  std::vector<Lease> leases;
  for (const std::string& name : HostileNames()) {
    ClaimSpec spec = Spec("i");
    spec.name_space = name;
    leases.push_back(Claimed(spec));
  }
  for (size_t i = 0; i < leases.size(); ++i) {
    Released(KeyOf(leases[i]), Now());
    ASSERT_THAT(store().DeleteNamespace(HostileNames()[i], kOperator), IsOk());
    for (size_t other = i + 1; other < leases.size(); ++other) {
      ASSERT_THAT(Renew(KeyOf(leases[other])), IsOk()) << HostileNames()[other];
    }
    const auto audit = store().ListAudit(HostileNames()[i], 10);
    ASSERT_THAT(audit, IsOk());
    EXPECT_EQ(audit->size(), 1u) << HostileNames()[i];
  }
}

TEST_P(LeaseStoreConformance, HostileInstanceIdsAreTheirOwn) {
  std::vector<Lease> leases;
  for (const std::string& name : HostileNames()) leases.push_back(Claimed(StableSpec(name)));
  for (size_t i = 0; i < leases.size(); ++i) {
    EXPECT_EQ(leases[i].row.machine_id, i) << HostileNames()[i];
    EXPECT_EQ(Row(static_cast<uint32_t>(i)).instance_id, HostileNames()[i]);
    Released(KeyOf(leases[i]), Now());
  }
  for (size_t i = 0; i < leases.size(); ++i) {
    EXPECT_EQ(Claimed(StableSpec(HostileNames()[i])).row.machine_id, i) << HostileNames()[i];
  }
}

// T1, M16: tokens and floors are counted per machine id.
TEST_P(LeaseStoreConformance, TokensOfOneIdDoNotMoveAnothers) {
  const Lease zero = Claimed(Spec("a"));
  for (uint64_t token = 1; token <= 3; ++token) {
    const Lease one = Claimed(Spec("b"));
    EXPECT_EQ(one.row.machine_id, 1u);
    EXPECT_EQ(one.row.token, token);
    Released(KeyOf(one), Now());
  }
  EXPECT_EQ(Row(0).token, zero.row.token);
}

}  // namespace
}  // namespace snowlease::testing
