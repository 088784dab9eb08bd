#include "tests/storage/lease_store_conformance.h"

// Renewals: what they extend, and who is told that the grant is lost.

namespace snowlease::testing {
namespace {

TEST_P(LeaseStoreConformance, RenewalMovesExpiryWindowAndWatermark) {
  const Lease lease = Claimed(Spec("a"));
  Advance(kMinute);
  const ClientTime now = Now();
  const Lease renewed = Renewed(KeyOf(lease), now);
  EXPECT_EQ(KeyOf(renewed), KeyOf(lease));
  EXPECT_GE(*renewed.row.window_end, now + kWindow);
  EXPECT_LE(*renewed.row.window_end, now + kWindow + harness().ClockSlack());
  EXPECT_GE(*renewed.expires_at, *lease.expires_at + kMinute);
  EXPECT_EQ(*renewed.expires_at, renewed.row.renewed_at + kSafeGuard);
  EXPECT_EQ(renewed.row.watermark, now);
  EXPECT_EQ(renewed.row.floor, lease.row.floor);
  EXPECT_TRUE(renewed.row.used);
  EXPECT_EQ(Describe(Row(0)), Describe(renewed.row)) << "what is answered is what is stored";
}

// F21
TEST_P(LeaseStoreConformance, RepeatedRenewalSucceedsWithTheSameToken) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime sent = Now();
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<Lease> renewed = RenewAt(KeyOf(lease), sent, sent);
    ASSERT_THAT(renewed, IsOk());
    EXPECT_EQ(renewed->row.token, lease.row.token);
    EXPECT_EQ(*renewed->row.window_end, sent + kWindow);
  }
  EXPECT_EQ(Rows().size(), 1u);
}

TEST_P(LeaseStoreConformance, ShorterWindowIsKeptOverRenewals) {
  ClaimSpec spec = Spec("a");
  spec.window = Millis(20'000);
  const Lease lease = Claimed(spec);
  EXPECT_EQ(*lease.row.window_end, spec.client_time + Millis(20'000));
  Advance(kMinute);
  const ClientTime now = Now();
  const absl::StatusOr<Lease> renewed = RenewAt(KeyOf(lease), now);
  ASSERT_THAT(renewed, IsOk());
  EXPECT_EQ(*renewed->row.window_end, now + Millis(20'000));
}

TEST_P(LeaseStoreConformance, WindowIsSafeGuardLessTheMargin) {
  for (const auto& [safe_guard, window] :
       {std::pair(Millis(1000), Millis(900)), std::pair(Millis(50'000), Millis(45'000)),
        std::pair(Millis(100'000), Millis(90'000)),
        std::pair(Millis(86'400'000), Millis(86'390'000))}) {
    ClaimSpec spec = Spec("sg" + std::to_string(safe_guard.count()));
    spec.safe_guard = safe_guard;
    EXPECT_EQ(*Claimed(spec).row.window_end, spec.client_time + window);
  }
}

// The window only grows during a grant, whatever the client's clock does.
TEST_P(LeaseStoreConformance, RenewalWithAnEarlierClockKeepsTheWindow) {
  const Lease lease = Claimed(Spec("a"));
  const absl::StatusOr<Lease> renewed = RenewAt(KeyOf(lease), Now() - kMinute);
  ASSERT_THAT(renewed, IsOk());
  EXPECT_EQ(renewed->row.window_end, lease.row.window_end);
}

TEST_P(LeaseStoreConformance, RenewalFromAClockFarAheadIsClampedAndSaysSo) {
  const Lease lease = Claimed(Spec("a"));
  EXPECT_FALSE(lease.client_clock_ahead);
  const ClientTime now = Now();
  const absl::StatusOr<Lease> renewed = RenewAt(KeyOf(lease), now + Millis(350'000));
  ASSERT_THAT(renewed, IsOk());
  ExpectAbout(*renewed->row.window_end, now + kMaxClockAhead + kWindow);
  EXPECT_TRUE(renewed->client_clock_ahead);
}

// W2, F15
TEST_P(LeaseStoreConformance, RenewalNeverLowersTheWatermark) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime high = Now() + Millis(5000);
  Renewed(KeyOf(lease), high);
  for (const ClientTime last : {high - Millis(1), ClientTime{0}, ClientTime{1}}) {
    EXPECT_EQ(Renewed(KeyOf(lease), last).row.watermark, high);
  }
}

// F12: a crazy clock poisons nothing beyond the window that was granted.
TEST_P(LeaseStoreConformance, LastTimestampBeyondTheWindowIsClampedToIt) {
  const Lease lease = Claimed(Spec("a"));
  const absl::StatusOr<Lease> renewed =
      RenewAt(KeyOf(lease), Now(), Now() + Millis(50 * 86'400'000ll));
  ASSERT_THAT(renewed, IsOk());
  EXPECT_GE(renewed->row.watermark, *lease.row.window_end);
  EXPECT_LE(renewed->row.watermark, *renewed->row.window_end);
}

TEST_P(LeaseStoreConformance, ExpiredLeaseThatNobodyTookRenews) {
  const Lease lease = Claimed(Spec("a"));
  Advance(kSafeGuard * 10);
  const Lease renewed = Renewed(KeyOf(lease));
  EXPECT_EQ(renewed.row.token, lease.row.token);
  EXPECT_GE(*renewed.row.window_end, Now() + kWindow - harness().ClockSlack());
}

TEST_P(LeaseStoreConformance, RenewalThatNamesAnotherGrantChangesNothing) {
  const Lease a = Claimed(Spec("a"));
  Claimed(Spec("b"));
  const std::string before = Describe(Rows());
  GrantKey wrong = KeyOf(a);
  wrong.token += 1;
  EXPECT_THAT(Renew(wrong), HasLossCause(EndCause::kSuperseded)) << "a has another grant";
  wrong = KeyOf(a);
  wrong.machine_id = 7;
  EXPECT_THAT(Renew(wrong), HasLossCause(EndCause::kSuperseded)) << "a has another grant";
  wrong.instance_id = "nobody";
  EXPECT_THAT(Renew(wrong), HasLossCause(EndCause::kUnknown)) << "no such row";
  wrong = KeyOf(a);
  wrong.machine_id = 1;
  EXPECT_THAT(Renew(wrong), HasLossCause(EndCause::kSuperseded)) << "b's row, a's grant is 0";
  wrong = KeyOf(a);
  wrong.instance_id = "b";
  EXPECT_THAT(Renew(wrong), HasLossCause(EndCause::kSuperseded)) << "b has a grant elsewhere";
  wrong.instance_id = "nobody";
  EXPECT_THAT(Renew(wrong), HasReason(Reason::kMachineIdLost));
  wrong = KeyOf(a);
  wrong.name_space = "elsewhere";
  EXPECT_THAT(Renew(wrong), HasLossCause(EndCause::kUnknown));
  EXPECT_EQ(Describe(Rows()), before);
  EXPECT_THAT(store().GetNamespace("elsewhere"), HasReason(Reason::kNotFound));
}

TEST_P(LeaseStoreConformance, RenewalAfterATakeoverIsLostAndChangesNothing) {
  const Lease dead = Claimed(Spec("dead", 1));
  Claimed(StableSpec("other", 1));
  Advance(kSafeGuard);
  const Lease taker = Claimed(Spec("taker", 1));
  const std::string before = Describe(Rows());
  EXPECT_THAT(Renew(KeyOf(dead), Now()), HasLossCause(EndCause::kTakenOver));
  EXPECT_EQ(Describe(Rows()), before);
  Advance(kSafeGuard);
  Claimed(Spec("taker2", 1));
  EXPECT_THAT(Renew(KeyOf(dead)), HasLossCause(EndCause::kTakenOver)) << "also two grants later";
  EXPECT_THAT(Renew(KeyOf(taker)), HasLossCause(EndCause::kTakenOver));
}

// F22: nothing revives a released lease.
TEST_P(LeaseStoreConformance, LateRenewalAfterReleaseIsLost) {
  const Lease lease = Claimed(Spec("a"));
  const ClientTime last = Now();
  Released(KeyOf(lease), last);
  EXPECT_THAT(Renew(KeyOf(lease), last + Millis(100)), HasLossCause(EndCause::kReleased));
  EXPECT_EQ(Row(0).state, LeaseState::kFree);
  EXPECT_EQ(Row(0).free_floor, last);
  const Lease next = Claimed(Spec("b"));
  EXPECT_EQ(next.row.floor, last);
  EXPECT_THAT(Renew(KeyOf(lease)), HasLossCause(EndCause::kReleased)) << "also once granted anew";
}

TEST_P(LeaseStoreConformance, LateRenewalOfAKeptLeaseIsLost) {
  const Lease lease = Claimed(StableSpec("s"));
  Released(KeyOf(lease), Now());
  const LeaseRow before = Row(0);
  EXPECT_THAT(Renew(KeyOf(lease)), HasLossCause(EndCause::kReleased));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
}

TEST_P(LeaseStoreConformance, RenewalAfterRevocationIsLost) {
  const Lease lease = Claimed(Spec("a"));
  ASSERT_THAT(Force(0, lease.row.token), IsOk());
  const LeaseRow before = Row(0);
  EXPECT_THAT(Renew(KeyOf(lease)), HasLossCause(EndCause::kRevoked));
  EXPECT_THAT(Raise(KeyOf(lease), Now()), HasLossCause(EndCause::kRevoked));
  EXPECT_THAT(Release(KeyOf(lease), Now()), HasLossCause(EndCause::kRevoked));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
}

TEST_P(LeaseStoreConformance, SupersededIncarnationOnTheSameIdIsToldSo) {
  const Lease first = Claimed(Spec("a"));
  ClaimSpec comeback = Spec("a");
  comeback.proof = ProofOf(first, Now());
  const Lease second = Claimed(comeback);
  ASSERT_EQ(second.row.machine_id, first.row.machine_id);
  const LeaseRow before = Row(0);
  EXPECT_THAT(Renew(KeyOf(first), Now()), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Release(KeyOf(first), Now()), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Raise(KeyOf(first), Now()), HasLossCause(EndCause::kSuperseded));
  EXPECT_EQ(Describe(Row(0)), Describe(before));
  Released(KeyOf(second), Now());
  EXPECT_THAT(Renew(KeyOf(first)), HasLossCause(EndCause::kSuperseded));
}

// A stable instance that has come back and gone again: the older grant was followed by another.
TEST_P(LeaseStoreConformance, OlderGrantOfAKeptRowIsSuperseded) {
  const Lease first = Claimed(StableSpec("s"));
  Released(KeyOf(first), Now());
  const Lease second = Claimed(StableSpec("s"));
  Released(KeyOf(second), Now());
  EXPECT_THAT(Renew(KeyOf(first)), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Release(KeyOf(first), Now()), HasLossCause(EndCause::kSuperseded));
  EXPECT_THAT(Renew(KeyOf(second)), HasLossCause(EndCause::kReleased));
}

// The row itself remembers how the last grant ended; of older ones only that others followed.
TEST_P(LeaseStoreConformance, CauseOfTheLossOutlivesTheHistory) {
  storage::StoreOptions options;
  options.grants_kept = 1;
  const auto forgetful = GetParam().make(options);
  forgetful->Open();
  const auto claim = [&](const char* instance) {
    const ClaimSpec spec = Spec(instance);
    return forgetful->store().Claim({&spec, 1}, {}).front().value();
  };
  const auto end = [&](const Lease& lease) {
    const ReleaseSpec spec{KeyOf(lease), lease.row.floor, false};
    return forgetful->store().Release({&spec, 1}, {}).front();
  };
  const Lease first = claim("a");
  ASSERT_THAT(end(first), IsOk());
  const Lease second = claim("b");
  EXPECT_THAT(end(first), HasLossCause(EndCause::kReleased));
  ASSERT_THAT(end(second), IsOk());
  claim("c");
  EXPECT_THAT(end(second), HasLossCause(EndCause::kReleased));
  EXPECT_THAT(end(first), HasLossCause(EndCause::kTakenOver));
}

}  // namespace
}  // namespace snowlease::testing
