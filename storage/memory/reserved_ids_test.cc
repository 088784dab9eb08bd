#include <gtest/gtest.h>

#include <numeric>

#include "storage/errors.h"
#include "storage/memory/memory_lease_store.h"
#include "tests/testing/fake_clock.h"

namespace snowlease::storage {
namespace {

TEST(ReservedIds, ArePassedOverOnceHoweverManyClaimsMeetThem) {
  snowlease::testing::FakeClock clock;
  MemoryLeaseStore store({}, &clock);
  NamespaceUpdate create;
  create.name = "shop";
  create.machine_bits = 6;
  create.allow_missing = true;
  const AdminContext admin{"operator", "manual ids"};
  ASSERT_TRUE(store.UpdateNamespace(create, admin).ok());
  std::vector<uint32_t> ids(64);
  std::iota(ids.begin(), ids.end(), 0);
  ASSERT_TRUE(store.ReserveIds("shop", ids, admin).ok());

  ClaimSpec claim;
  claim.name_space = "shop";
  claim.instance_id = "a";
  claim.machine_bits = 6;
  claim.client_time = {clock.Now().ms};
  EXPECT_EQ(ReasonOf(store.Claim({&claim, 1}, {})[0].status()), Reason::kMachineIdOverflow);
  EXPECT_EQ(store.ListNamespaces("", 1)->front().next_machine_id, 64u);

  ASSERT_TRUE(store.UnreserveIds("shop", std::span(ids).subspan(7, 1), ClientTime{0}, admin).ok());
  const auto lease = store.Claim({&claim, 1}, {});
  ASSERT_TRUE(lease[0].ok());
  EXPECT_EQ(lease[0]->row.machine_id, 7u);
}

}  // namespace
}  // namespace snowlease::storage
