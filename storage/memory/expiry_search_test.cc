#include "storage/expiry_search.h"

#include <gtest/gtest.h>

#include "storage/memory/memory_lease_rows.h"

namespace snowlease::storage {
namespace {

constexpr int64_t kNow = 1'900'000'000'000;
constexpr Millis kSafeGuard{300'000};
constexpr ClientTime kAnyFloor{kNow * 2};
constexpr uint64_t kAll = 1u << 20;

// Counts the blocks that a search reads.
class CountingRows : public LeaseRows {
 public:
  explicit CountingRows(MemoryLeaseRows* rows) : rows_(rows) {}
  int blocks_read = 0;

  std::vector<LeaseRow> ExpirableInBlock(const std::string& name_space, uint32_t block) override {
    ++blocks_read;
    return rows_->ExpirableInBlock(name_space, block);
  }
  std::vector<ExpiryBlock> BlocksDue(const std::string& name_space, StoreTime until,
                                     uint64_t id_limit, const std::optional<ExpiryBlock>& after,
                                     int limit) override {
    return rows_->BlocksDue(name_space, until, id_limit, after, limit);
  }
  void SetBlockBound(const std::string& name_space, uint32_t block,
                     std::optional<StoreTime> bound) override {
    rows_->SetBlockBound(name_space, block, bound);
  }

  std::optional<NamespaceRow> GetNamespace(const std::string&) override { return std::nullopt; }
  void PutNamespace(const NamespaceRow&) override {}
  std::vector<NamespaceRow> AllNamespaces(const std::string&, int) override { return {}; }
  std::optional<LeaseRow> Get(const std::string&, uint32_t) override { return std::nullopt; }
  std::optional<LeaseRow> FindInstance(const std::string&, const std::string&) override {
    return std::nullopt;
  }
  std::optional<LeaseRow> LowestFree(const std::string&, uint64_t) override { return std::nullopt; }
  void Put(const LeaseRow&) override {}
  void PutRenewal(const LeaseRow&) override {}
  void LowerBlockBound(const std::string&, uint32_t, StoreTime) override {}
  void AddGrant(const std::string&, uint32_t, const GrantRow&, int) override {}
  void EndGrant(const std::string&, uint32_t, uint64_t, StoreTime, std::optional<ClientTime>,
                EndCause, bool) override {}
  std::optional<GrantRow> FindGrant(const std::string&, uint32_t, uint64_t) override {
    return std::nullopt;
  }
  std::vector<GrantRow> Grants(const std::string&, uint32_t) override { return {}; }
  void AddAudit(const AuditRow&) override {}
  std::vector<LeaseRow> Scan(const std::string&, const LeaseFilter&, uint32_t, int) override {
    return {};
  }
  void DropLeases(const std::string&) override {}

 private:
  MemoryLeaseRows* const rows_;
};

class ExpirySearchTest : public testing::Test {
 protected:
  // A HELD row renewed at this store time.
  void Hold(uint32_t machine_id, int64_t renewed_ms) {
    LeaseRow row;
    row.name_space = "shop";
    row.machine_id = machine_id;
    row.state = LeaseState::kHeld;
    row.instance_id = std::to_string(machine_id);
    row.safe_guard = kSafeGuard;
    row.window_end = {renewed_ms + 290'000};
    row.renewed_at = {renewed_ms};
    memory_.Put(row);
    memory_.LowerBlockBound("shop", machine_id / kExpiryBlockSize, {renewed_ms + 300'000});
  }

  ExpirySearch Find(int64_t now, ClientTime highest_floor = kAnyFloor, uint64_t limit = kAll) {
    rows_.blocks_read = 0;
    return FindLongestExpired(rows_, "shop", limit, highest_floor, {}, {now});
  }

  MemoryLeaseRows memory_;
  CountingRows rows_{&memory_};
};

TEST_F(ExpirySearchTest, FindsTheLongestExpiredOfAllBlocks) {
  Hold(3, kNow - 400'000);
  Hold(300, kNow - 500'000);
  Hold(700, kNow - 450'000);
  const ExpirySearch search = Find(kNow);
  ASSERT_TRUE(search.longest_expired);
  EXPECT_EQ(search.longest_expired->machine_id, 300u);
  EXPECT_EQ(search.bound_without_it, std::nullopt);
}

TEST_F(ExpirySearchTest, FindsNothingAndReadsNothingWhileNoBoundHasPassed) {
  for (uint32_t id = 0; id < 4096; ++id) Hold(id, kNow - 299'999);
  EXPECT_FALSE(Find(kNow).longest_expired);
  EXPECT_EQ(rows_.blocks_read, 0);
}

TEST_F(ExpirySearchTest, ReadsAStaleBlockOnceAndThenTrustsItsNewBound) {
  for (uint32_t id = 0; id < 4096; ++id) Hold(id, kNow - 600'000);
  for (uint32_t id = 0; id < 4096; ++id) {
    LeaseRow row = *memory_.Get("shop", id);
    row.renewed_at = {kNow - 1'000};
    memory_.PutRenewal(row);
  }
  EXPECT_FALSE(Find(kNow).longest_expired);
  EXPECT_EQ(rows_.blocks_read, 16);
  EXPECT_FALSE(Find(kNow + 298'999).longest_expired);
  EXPECT_EQ(rows_.blocks_read, 0);
}

TEST_F(ExpirySearchTest, CostsTheSameInAThousandAndInAMillionIds) {
  constexpr int kTakeovers = 200;
  const auto blocks_for = [&](uint32_t size) {
    memory_.DropLeases("shop");
    for (uint32_t id = 0; id < size; ++id) {
      Hold(id, kNow - 400'000 - int64_t{(id * 7919u) % 90'000u});
    }
    Find(kNow);  // sets the bounds exactly
    int read = 0;
    for (int i = 0; i < kTakeovers; ++i) {
      const ExpirySearch search = Find(kNow);
      read += rows_.blocks_read;
      const uint32_t id = search.longest_expired->machine_id;
      memory_.SetBlockBound("shop", id / kExpiryBlockSize, search.bound_without_it);
      Hold(id, kNow);
    }
    return read;
  };
  const int small = blocks_for(1'000);
  const int large = blocks_for(1u << 20);
  EXPECT_LE(large, kTakeovers * 2);
  EXPECT_LE(large, small * 3 / 2);
}

TEST_F(ExpirySearchTest, PassesOverFloorsTheClaimantCannotWaitFor) {
  Hold(1, kNow - 500'000);  // floor kNow - 210'000
  Hold(2, kNow - 400'000);  // floor kNow - 110'000
  const ExpirySearch search = Find(kNow, ClientTime{kNow - 300'000});
  EXPECT_FALSE(search.longest_expired);
  EXPECT_EQ(search.lowest_passed_floor, ClientTime{kNow - 210'000});
}

TEST_F(ExpirySearchTest, LooksOnlyAtIdsBelowTheLimitAndKeepsTheBoundOfTheRest) {
  Hold(1, kNow - 310'000);
  Hold(2, kNow - 500'000);
  const ExpirySearch search = Find(kNow, kAnyFloor, 2);
  ASSERT_TRUE(search.longest_expired);
  EXPECT_EQ(search.longest_expired->machine_id, 1u);
  EXPECT_EQ(search.bound_without_it, StoreTime{kNow - 200'000});
}

TEST_F(ExpirySearchTest, TellsTheNextExpiryAfterRenewals) {
  Hold(1, kNow - 200'000);
  Hold(2, kNow - 100'000);
  LeaseRow row = *memory_.Get("shop", 1);
  row.renewed_at = {kNow};
  memory_.PutRenewal(row);
  EXPECT_EQ(FindNextExpiry(rows_, "shop", kAll), StoreTime{kNow + 200'000});
}

}  // namespace
}  // namespace snowlease::storage
