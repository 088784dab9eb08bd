#include "storage/sql/expiry_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "storage/sql/memory_bulk_statements.h"

namespace snowlease::storage {
namespace {

using Places = std::vector<std::pair<int64_t, uint32_t>>;

Places PlacesOf(const std::vector<ExpiryBlock>& blocks) {
  Places places;
  for (const ExpiryBlock& block : blocks) places.push_back({block.bound.ms, block.block});
  return places;
}

// The bounds as they would be if every change were written at once.
class Model {
 public:
  void Set(uint32_t block, std::optional<int64_t> bound) {
    if (bound) {
      bounds_[block] = *bound;
    } else {
      bounds_.erase(block);
    }
  }
  void Lower(uint32_t block, int64_t bound) {
    int64_t& known = bounds_.emplace(block, bound).first->second;
    known = std::min(known, bound);
  }
  Places Due(int64_t until, uint64_t id_limit, const std::optional<ExpiryBlock>& after,
             size_t limit) const {
    Places due;
    for (const auto& [block, bound] : bounds_) {
      const bool later =
          !after || std::pair(bound, block) > std::pair(after->bound.ms, after->block);
      if (bound <= until && later && uint64_t{block} * kExpiryBlockSize < id_limit) {
        due.push_back({bound, block});
      }
    }
    std::sort(due.begin(), due.end());
    due.resize(std::min(due.size(), limit));
    return due;
  }
  const std::map<uint32_t, int64_t>& bounds() const { return bounds_; }

 private:
  std::map<uint32_t, int64_t> bounds_;
};

TEST(ExpiryBlocks, SayWhatWasWrittenAndWriteWhatWasSaid) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    MemoryBulkStatements statements;
    Model model;
    for (uint32_t block = 0; block < 200; ++block) {
      if (random() % 3 == 0) continue;
      const int64_t bound = random() % 1000;
      statements.bounds[{"a", block}] = {bound};
      model.Set(block, bound);
    }
    statements.bounds[{"b", 1}] = {0};
    ExpiryBlocks blocks(&statements, "a");
    for (int step = 0; step < 60; ++step) {
      const uint32_t block = random() % 200;
      const int64_t bound = random() % 1000;
      switch (random() % 5) {
        case 0:
          blocks.Set(block, StoreTime{bound});
          model.Set(block, bound);
          break;
        case 1:
          blocks.Set(block, std::nullopt);
          model.Set(block, std::nullopt);
          break;
        case 2:
          blocks.Lower(block, {bound});
          model.Lower(block, bound);
          break;
        default: {
          std::optional<ExpiryBlock> after;
          if (random() % 2 == 0) after = ExpiryBlock{block, {bound / 2}};
          const uint64_t id_limit = random() % 2 == 0 ? 1u << 20 : 100 * kExpiryBlockSize;
          const int limit = 1 + static_cast<int>(random() % 40);
          const int64_t until = random() % 1200;
          ASSERT_EQ(PlacesOf(blocks.Due({until}, id_limit, after, limit)),
                    model.Due(until, id_limit, after, static_cast<size_t>(limit)))
              << "step " << step;
        }
      }
      if (random() % 20 == 0) blocks.Flush();
    }
    blocks.Flush();
    std::map<BlockKey, StoreTime> expected = {{{"b", 1}, {0}}};
    for (const auto& [block, bound] : model.bounds()) expected[{"a", block}] = {bound};
    ASSERT_EQ(statements.bounds, expected);
  }
}

TEST(ExpiryBlocks, FirstBlocksAreFoundWithoutReadingAll) {
  MemoryBulkStatements statements;
  for (uint32_t block = 0; block < 4096; ++block) statements.bounds[{"a", block}] = {block};
  ExpiryBlocks blocks(&statements, "a");
  EXPECT_EQ(PlacesOf(blocks.Due({4000}, 1u << 30, std::nullopt, 2)), (Places{{0, 0}, {1, 1}}));
  EXPECT_EQ(statements.statements, 1);
}

TEST(ExpiryBlocks, LoweringAloneIsOneStatement) {
  MemoryBulkStatements statements;
  ExpiryBlocks blocks(&statements, "a");
  for (uint32_t block = 0; block < 100; ++block) blocks.Lower(block % 10, {1000 - block});
  blocks.Flush();
  EXPECT_EQ(statements.statements, 1);
  EXPECT_EQ(statements.bounds.at({"a", 9}), StoreTime{901});
}

}  // namespace
}  // namespace snowlease::storage
