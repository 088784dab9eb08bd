#include "storage/sql/expiry_blocks.h"

#include <algorithm>

namespace snowlease::storage {
namespace {

constexpr int kLargestPage = 4096;

}  // namespace

std::vector<ExpiryBlock> ExpiryBlocks::Due(StoreTime until, uint64_t id_limit,
                                           const std::optional<ExpiryBlock>& after, int limit) {
  FlushLowered();
  reading_ = true;
  std::vector<ExpiryBlock> due;
  Place last = after ? Place{after->bound, after->block} : kBeforeAll;
  while (due.size() < static_cast<size_t>(limit)) {
    const auto next = by_bound_.upper_bound(last);
    const bool is_read = next != by_bound_.end() && (complete_ || *next <= read_until_);
    if (!is_read && !complete_ && read_until_.first <= until) {
      ReadPage();
      continue;
    }
    if (next == by_bound_.end() || next->first > until) break;
    last = *next;
    if (uint64_t{last.second} * kExpiryBlockSize < id_limit) {
      due.push_back({last.second, last.first});
    }
  }
  return due;
}

void ExpiryBlocks::ReadPage() {
  std::optional<ExpiryBlock> after;
  if (read_until_ != kBeforeAll) after = ExpiryBlock{read_until_.second, read_until_.first};
  const auto page = statements_->BlocksAfter(name_space_, after, page_);
  for (const ExpiryBlock& block : page) {
    // What this transaction has set is newer.
    if (!bounds_.contains(block.block)) Change(block.block, block.bound);
  }
  complete_ = page.size() < static_cast<size_t>(page_);
  if (!page.empty()) read_until_ = {page.back().bound, page.back().block};
  page_ = std::min(page_ * 4, kLargestPage);
}

void ExpiryBlocks::Set(uint32_t block, std::optional<StoreTime> bound) {
  Change(block, bound);
  changed_.insert(block);
  lowered_.erase(block);
}

void ExpiryBlocks::Lower(uint32_t block, StoreTime bound) {
  const auto known = bounds_.find(block);
  if (known == bounds_.end() && !complete_) {
    const auto [lowered, is_new] = lowered_.emplace(block, bound);
    if (!is_new) lowered->second = std::min(lowered->second, bound);
    return;
  }
  if (known == bounds_.end() || !known->second || bound < *known->second) Set(block, bound);
}

void ExpiryBlocks::Flush() {
  FlushLowered();
  std::vector<BlockBound> bounds;
  std::vector<BlockKey> dropped;
  for (const uint32_t block : changed_) {
    const auto& bound = bounds_.at(block);
    if (bound) {
      bounds.push_back({{name_space_, block}, *bound});
    } else {
      dropped.push_back({name_space_, block});
    }
  }
  changed_.clear();
  if (!bounds.empty()) statements_->PutBounds(bounds);
  if (!dropped.empty()) statements_->DropBounds(dropped);
}

void ExpiryBlocks::FlushLowered() {
  if (lowered_.empty()) return;
  std::vector<BlockBound> bounds;
  for (const auto& [block, bound] : lowered_) {
    bounds.push_back({{name_space_, block}, bound});
    // The block was not read, so its bound was later than what has been read: it is the
    // lowered one now, and would not be met again by reading on.
    if (reading_ && Place{bound, block} <= read_until_) Change(block, bound);
  }
  lowered_.clear();
  statements_->LowerBounds(bounds);
}

void ExpiryBlocks::Change(uint32_t block, std::optional<StoreTime> bound) {
  auto& known = bounds_[block];
  if (known) by_bound_.erase({*known, block});
  known = bound;
  if (known) by_bound_.insert({*known, block});
}

}  // namespace snowlease::storage
