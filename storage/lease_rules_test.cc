#include "storage/lease_rules.h"

#include <gtest/gtest.h>

namespace snowlease::storage {
namespace {

constexpr int64_t kNow = 1'900'000'000'000;
constexpr Millis kSafeGuard{300'000};

RuleContext ContextAt(int64_t store_ms, int64_t host_ms) {
  RuleContext context;
  context.now = {store_ms};
  context.host_now = {host_ms};
  return context;
}

ClaimSpec SpecAt(int64_t client_ms) {
  ClaimSpec spec;
  spec.name_space = "shop";
  spec.instance_id = "a";
  spec.safe_guard = kSafeGuard;
  spec.client_time = {client_ms};
  return spec;
}

LeaseRow HeldRow() {
  LeaseRow row;
  row.name_space = "shop";
  Grant(row, SpecAt(kNow), LeaseSource::kNew, {0}, ContextAt(kNow, kNow));
  return row;
}

TEST(Margin, IsATenthOfTheSafeGuardAndTenSecondsAtMost) {
  EXPECT_EQ(Margin(Millis(1'000)), Millis(100));
  EXPECT_EQ(Margin(Millis(100'000)), Millis(10'000));
  EXPECT_EQ(Margin(Millis(86'400'000)), Millis(10'000));
}

TEST(WindowLength, IsSafeGuardLessMarginOrTheShorterOneAskedFor) {
  EXPECT_EQ(WindowLength(kSafeGuard, std::nullopt), Millis(290'000));
  EXPECT_EQ(WindowLength(kSafeGuard, Millis(5'000)), Millis(5'000));
  EXPECT_EQ(WindowLength(kSafeGuard, Millis(400'000)), Millis(290'000));
  EXPECT_EQ(WindowLength(Millis(0), std::nullopt), Millis(0));
}

TEST(Expiry, ComesExactlyAtTheSafeGuard) {
  const LeaseRow row = HeldRow();
  EXPECT_FALSE(IsExpired(row, {kNow + kSafeGuard.count() - 1}));
  EXPECT_TRUE(IsExpired(row, {kNow + kSafeGuard.count()}));
}

TEST(Expiry, NeverComesToStableEndlessOrUnheldRows) {
  LeaseRow stable = HeldRow();
  stable.stable = true;
  LeaseRow endless = HeldRow();
  endless.safe_guard = Millis(0);
  LeaseRow kept = HeldRow();
  Keep(kept);
  for (const LeaseRow& row : {stable, endless, kept}) {
    EXPECT_EQ(ExpiresAt(row), std::nullopt);
    EXPECT_FALSE(IsExpired(row, {kNow * 2}));
  }
}

TEST(Floor, IsTheHighestOfWatermarkFenceAndOpenWindow) {
  LeaseRow row = HeldRow();
  EXPECT_EQ(FloorOf(row), row.window_end);
  row.fence = *row.window_end + Millis(1);
  EXPECT_EQ(FloorOf(row), row.fence);
  row.state = LeaseState::kFree;
  row.fence = {5};
  row.watermark = {7};
  EXPECT_EQ(FloorOf(row), ClientTime{7});
}

TEST(Floor, OfAnEndlessHolderIsBeyondAnyClock) {
  LeaseRow row = HeldRow();
  row.window_end.reset();
  EXPECT_EQ(FloorOf(row), std::nullopt);
}

TEST(WindowEnd, IsClampedToWhatAClientMayBeAhead) {
  const RuleContext context = ContextAt(kNow, kNow);
  const Millis window(290'000);
  EXPECT_EQ(WindowEnd({kNow + 60'000}, window, context), (ClientTime{kNow + 350'000}));
  EXPECT_EQ(WindowEnd({kNow + 60'001}, window, context), (ClientTime{kNow + 350'000}));
  EXPECT_EQ(WindowEnd({kNow - 5'000}, window, context), (ClientTime{kNow + 285'000}));
}

TEST(ReferenceClock, IsTheLaterOfStoreAndHost) {
  EXPECT_EQ(ContextAt(kNow, kNow + 5).Reference(), ClientTime{kNow + 5});
  EXPECT_EQ(ContextAt(kNow + 9, kNow).Reference(), ClientTime{kNow + 9});
}

TEST(Takeovers, PauseWhenStoreAndHostClockDifferByMoreThanAllowed) {  // M11
  EXPECT_FALSE(ContextAt(kNow + 60'000, kNow).TakeoversPaused());
  EXPECT_TRUE(ContextAt(kNow + 60'001, kNow).TakeoversPaused());
  EXPECT_TRUE(ContextAt(kNow, kNow + 3'600'000).TakeoversPaused());
}

TEST(EndClean, TrimsTheWindowToTheLastTimestamp) {
  LeaseRow row = HeldRow();
  EndClean(row, {kNow + 17}, EndCause::kReleased);
  Free(row);
  EXPECT_EQ(row.free_floor, ClientTime{kNow + 17});
  EXPECT_EQ(row.fence, ClientTime{0});
  EXPECT_EQ(row.ended_token, 1u);
  EXPECT_EQ(row.end_cause, EndCause::kReleased);
}

TEST(EndClean, ClampsALastTimestampBeyondTheWindowToTheWindow) {  // M02: never below it
  LeaseRow row = HeldRow();
  const ClientTime window_end = *row.window_end;
  EndClean(row, window_end + Millis(1), EndCause::kReleased);
  EXPECT_EQ(row.watermark, window_end);
}

TEST(EndClean, OfAnUnusedGrantLeavesItsFloor) {
  LeaseRow row;
  Grant(row, SpecAt(kNow), LeaseSource::kReleased, {kNow - 3}, ContextAt(kNow, kNow));
  EndClean(row, {0}, EndCause::kReleased);
  Free(row);
  EXPECT_EQ(row.free_floor, ClientTime{kNow - 3});
}

TEST(EndUnclean, RaisesTheFenceToTheWindowEndAndNeverLowersIt) {
  LeaseRow row = HeldRow();
  const ClientTime window_end = *row.window_end;
  EndUnclean(row, EndCause::kTakenOver, ContextAt(kNow, kNow), Millis(0));
  EXPECT_EQ(row.fence, window_end);
  row.window_end = window_end - Millis(50);
  EndUnclean(row, EndCause::kTakenOver, ContextAt(kNow, kNow), Millis(0));
  EXPECT_EQ(row.fence, window_end);
}

TEST(EndUnclean, PutsAnEndlessLeaseIntoQuarantine) {
  LeaseRow row = HeldRow();
  row.safe_guard = Millis(0);
  row.window_end.reset();
  EndUnclean(row, EndCause::kRevoked, ContextAt(kNow, kNow + 4), Millis(1'000));
  Free(row);
  EXPECT_EQ(row.free_floor, ClientTime{kNow + 1'004});
}

TEST(Grant, CountsTheTokenAndStartsAtTheFloor) {
  LeaseRow row = HeldRow();
  EXPECT_EQ(row.token, 1u);
  EXPECT_EQ(row.watermark, ClientTime{0});
  ClaimSpec behind = SpecAt(kNow);
  Grant(row, behind, LeaseSource::kOwn, {kNow + 400'000}, ContextAt(kNow, kNow));
  EXPECT_EQ(row.token, 2u);
  EXPECT_EQ(row.watermark, ClientTime{kNow + 400'000});
  EXPECT_EQ(row.window_end, ClientTime{kNow + 400'000}) << "a window never ends below its floor";
}

TEST(Extend, OnlyGrowsTheWindowAndTellsWhenTheStoreClockWentBack) {
  LeaseRow row = HeldRow();
  const ClientTime window_end = *row.window_end;
  const Extension back = Extend(row, {kNow - 1'000}, ContextAt(kNow - 1, kNow));
  EXPECT_TRUE(back.store_clock_went_back);
  EXPECT_EQ(row.renewed_at, StoreTime{kNow - 1});
  EXPECT_EQ(*row.window_end, window_end);
  const Extension ahead = Extend(row, {kNow + 100'000}, ContextAt(kNow + 1'000, kNow + 1'000));
  EXPECT_TRUE(ahead.client_clock_ahead);
  EXPECT_EQ(*row.window_end, (ClientTime{kNow + 1'000 + 60'000 + 290'000}));
}

TEST(Proof, NeedsTheIncarnationAndAReserveNotBelowTheWatermark) {  // M16
  LeaseRow row = HeldRow();
  row.incarnation_id[0] = 1;
  row.watermark = {kNow};
  Proof proof;
  proof.incarnation_id[0] = 1;
  proof.reserved_until = {kNow};
  EXPECT_TRUE(ProofHolds(row, proof));
  EXPECT_FALSE(ProofHolds(row, std::nullopt));
  proof.reserved_until = {kNow - 1};
  EXPECT_FALSE(ProofHolds(row, proof));
  proof.reserved_until = {kNow};
  proof.incarnation_id[0] = 2;
  EXPECT_FALSE(ProofHolds(row, proof));
}

TEST(Mode, DefaultsToMoveAndForStableInstancesToKeep) {
  ClaimSpec spec = SpecAt(kNow);
  EXPECT_EQ(ModeOf(spec), ComebackMode::kMove);
  spec.stable = true;
  EXPECT_EQ(ModeOf(spec), ComebackMode::kKeep);
  spec.comeback = ComebackMode::kTrustClock;
  EXPECT_EQ(ModeOf(spec), ComebackMode::kTrustClock);
}

}  // namespace
}  // namespace snowlease::storage
