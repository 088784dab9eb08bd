#include "service/rpc/validation.h"

#include <gmock/gmock.h>

#include <functional>

#include "tests/testing/matchers.h"

namespace snowlease::service {
namespace {

using storage::Reason;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::HasReason;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::UnorderedElementsAre;

v1::ClaimRequest GoodClaim() {
  v1::ClaimRequest request;
  request.set_namespace_("orders");
  request.set_instance_id("orders-1");
  request.set_incarnation_id(std::string(16, 'i'));
  request.set_machine_bits(10);
  request.set_client_time_ms(1'750'000'000'000);
  return request;
}

v1::RenewRequest GoodRenew() {
  v1::RenewRequest request;
  request.set_namespace_("orders");
  request.set_machine_id(0);
  request.set_instance_id("orders-1");
  request.set_token(1);
  request.set_client_time_ms(1'750'000'000'000);
  return request;
}

std::vector<std::string> Fields(const absl::Status& status) {
  std::vector<std::string> fields;
  for (const auto& violation : storage::FieldViolationsOf(status))
    fields.push_back(violation.field);
  return fields;
}

void SetDuration(google::protobuf::Duration* duration, int64_t seconds, int32_t nanos = 0) {
  duration->set_seconds(seconds);
  duration->set_nanos(nanos);
}

// The fields that are wrong after the change.
std::vector<std::string> ClaimWith(const std::function<void(v1::ClaimRequest&)>& change) {
  v1::ClaimRequest request = GoodClaim();
  change(request);
  return Fields(Validate(request));
}

TEST(ValidationTest, AcceptsTheSmallestClaimAndRenewal) {
  EXPECT_THAT(Validate(GoodClaim()), IsOk());
  EXPECT_THAT(Validate(GoodRenew()), IsOk());
}

TEST(ValidationTest, ListsEveryViolationOfAClaimAtOnce) {
  v1::ClaimRequest request;
  request.set_machine_bits(31);
  SetDuration(request.mutable_safe_guard_duration(), -1);
  SetDuration(request.mutable_window(), 0, 1);
  SetDuration(request.mutable_max_wait(), 86'401);
  request.set_comeback_mode(static_cast<v1::ComebackMode>(9));
  request.mutable_proof();
  (*request.mutable_metadata())["k"] = std::string(2000, 'v');
  const absl::Status status = Validate(request);
  EXPECT_THAT(status, HasReason(Reason::kInvalidArgument));
  EXPECT_THAT(Fields(status),
              UnorderedElementsAre("namespace", "instance_id", "incarnation_id", "machine_bits",
                                   "safe_guard_duration", "window", "client_time_ms", "max_wait",
                                   "comeback_mode", "proof.incarnation_id",
                                   "proof.reserved_until_ms", "metadata", "metadata.value"));
}

TEST(ValidationTest, ListsEveryViolationOfARenewalAtOnce) {
  v1::RenewRequest request;
  request.set_last_timestamp_ms(-1);
  EXPECT_THAT(Fields(Validate(request)),
              UnorderedElementsAre("namespace", "machine_id", "instance_id", "token",
                                   "last_timestamp_ms", "client_time_ms"));
}

TEST(ValidationTest, EveryViolationTellsWhatToDo) {
  for (const auto& violation : storage::FieldViolationsOf(Validate(v1::ClaimRequest()))) {
    EXPECT_GT(violation.description.size(), 15u) << violation.field;
  }
}

TEST(ValidationTest, AcceptsStrangeButValidNames) {
  for (const std::string& name :
       {std::string("a"), std::string("a.b"), std::string("a__b"), std::string("a%"),
        std::string(" "), std::string("../../etc"), std::string("'; DROP TABLE leases; --"),
        std::string("\xF0\x9F\x90\xA7"), std::string("\xE2\x80\xAE"), std::string(200, 'n')}) {
    EXPECT_THAT(ClaimWith([&](auto& r) { r.set_namespace_(name); }), IsEmpty()) << name;
    EXPECT_THAT(ClaimWith([&](auto& r) { r.set_instance_id(name); }), IsEmpty()) << name;
  }
}

TEST(ValidationTest, RefusesHostileNames) {
  for (const std::string& name :
       {std::string(), std::string(201, 'n'), std::string("a\0b", 3), std::string("a\nb"),
        std::string("a\x7F"), std::string("\xC2\x85"), std::string("\xFF"), std::string("\xC0\x80"),
        std::string("\xED\xA0\x80"), std::string("\xF4\x90\x80\x80"), std::string("\xE2\x82")}) {
    EXPECT_THAT(ClaimWith([&](auto& r) { r.set_namespace_(name); }), ElementsAre("namespace"));
    EXPECT_THAT(ClaimWith([&](auto& r) { r.set_instance_id(name); }), ElementsAre("instance_id"));
  }
}

TEST(ValidationTest, NulByteIsNamedWithItsPlace) {
  v1::ClaimRequest request = GoodClaim();
  request.set_namespace_(std::string("ab\0c", 4));
  EXPECT_THAT(std::string(Validate(request).message()),
              HasSubstr("namespace: has a control character at byte 2"));
}

// F04: bits that no layout has are refused.
TEST(ValidationTest, MachineBitsAreOneToThirty) {
  for (const uint32_t bits : {0u, 31u, 32u, 4'000'000'000u}) {
    EXPECT_THAT(ClaimWith([&](auto& r) { r.set_machine_bits(bits); }), ElementsAre("machine_bits"));
  }
  for (const uint32_t bits : {1u, 12u, 20u, 30u}) {
    EXPECT_THAT(ClaimWith([&](auto& r) { r.set_machine_bits(bits); }), IsEmpty());
  }
}

TEST(ValidationTest, IncarnationHasExactlySixteenBytes) {
  for (const size_t size : {0u, 15u, 17u}) {
    EXPECT_THAT(ClaimWith([&](auto& r) { r.set_incarnation_id(std::string(size, '\0')); }),
                ElementsAre("incarnation_id"));
  }
  EXPECT_THAT(ClaimWith([&](auto& r) { r.set_incarnation_id(std::string(16, '\0')); }), IsEmpty());
}

TEST(ValidationTest, SafeGuardDurationIsZeroOrOneSecondToOneDay) {
  const auto with = [](int64_t seconds, int32_t nanos) {
    return ClaimWith(
        [&](auto& r) { SetDuration(r.mutable_safe_guard_duration(), seconds, nanos); });
  };
  for (const auto& [seconds, nanos] : std::vector<std::pair<int64_t, int32_t>>{
           {0, 0}, {1, 0}, {1, 1'000'000}, {300, 0}, {86'400, 0}}) {
    EXPECT_THAT(with(seconds, nanos), IsEmpty()) << seconds << " s " << nanos;
  }
  for (const auto& [seconds, nanos] : std::vector<std::pair<int64_t, int32_t>>{{0, 999'000'000},
                                                                               {86'400, 1'000'000},
                                                                               {-1, 0},
                                                                               {0, -1'000'000},
                                                                               {1, 1},
                                                                               {1, 999'999'999},
                                                                               {1, -1},
                                                                               {1, 1'000'000'000},
                                                                               {INT64_MAX, 0},
                                                                               {INT64_MIN, 0},
                                                                               {5, INT32_MIN}}) {
    EXPECT_THAT(with(seconds, nanos), ElementsAre("safe_guard_duration"))
        << seconds << " s " << nanos;
  }
}

TEST(ValidationTest, WindowIsShorterThanSafeGuardLessMargin) {
  const auto with = [](int64_t safe_guard, int64_t seconds, int32_t nanos) {
    return ClaimWith([&](auto& r) {
      SetDuration(r.mutable_safe_guard_duration(), safe_guard);
      SetDuration(r.mutable_window(), seconds, nanos);
    });
  };
  EXPECT_THAT(with(10, 8, 999'000'000), IsEmpty());
  EXPECT_THAT(with(10, 0, 1'000'000), IsEmpty());
  EXPECT_THAT(with(10, 9, 0), ElementsAre("window"));  // margin 1 s
  EXPECT_THAT(with(300, 289, 0), IsEmpty());           // margin 10 s
  EXPECT_THAT(with(300, 290, 0), ElementsAre("window"));
  EXPECT_THAT(with(10, 0, 0), ElementsAre("window"));
  EXPECT_THAT(with(10, -1, 0), ElementsAre("window"));
  EXPECT_THAT(with(0, 5, 0), ElementsAre("window"));  // never expires: no window
  // Of the default safe guard duration.
  EXPECT_THAT(ClaimWith([](auto& r) { SetDuration(r.mutable_window(), 290); }),
              ElementsAre("window"));
}

TEST(ValidationTest, ClientTimeIsPresentAndPlausible) {
  EXPECT_THAT(ClaimWith([](auto& r) { r.clear_client_time_ms(); }), ElementsAre("client_time_ms"));
  EXPECT_THAT(ClaimWith([](auto& r) { r.set_client_time_ms(-1); }), ElementsAre("client_time_ms"));
  EXPECT_THAT(ClaimWith([](auto& r) { r.set_client_time_ms(int64_t{1} << 53); }),
              ElementsAre("client_time_ms"));
  EXPECT_THAT(ClaimWith([](auto& r) { r.set_client_time_ms((int64_t{1} << 53) - 1); }), IsEmpty());
  EXPECT_THAT(ClaimWith([](auto& r) { r.set_client_time_ms(0); }), IsEmpty());
}

TEST(ValidationTest, MachineIdZeroIsAnIdAndAbsenceIsNot) {
  v1::RenewRequest request = GoodRenew();
  request.clear_machine_id();
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("machine_id"));
  request.set_machine_id(1u << 30);
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("machine_id"));
  request.set_machine_id((1u << 30) - 1);
  EXPECT_THAT(Validate(request), IsOk());
}

TEST(ValidationTest, TokenIsOneOrMoreAndFitsASignedColumn) {
  v1::RenewRequest request = GoodRenew();
  request.set_token(0);
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("token"));
  request.set_token(uint64_t{1} << 63);
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("token"));
  request.set_token((uint64_t{1} << 63) - 1);
  EXPECT_THAT(Validate(request), IsOk());
}

TEST(ValidationTest, ProofIsCompleteOrAbsent) {
  EXPECT_THAT(
      ClaimWith([](auto& r) { r.mutable_proof()->set_incarnation_id(std::string(16, 'p')); }),
      ElementsAre("proof.reserved_until_ms"));
  EXPECT_THAT(ClaimWith([](auto& r) { r.mutable_proof()->set_reserved_until_ms(0); }),
              ElementsAre("proof.incarnation_id"));
  EXPECT_THAT(ClaimWith([](auto& r) {
                r.mutable_proof()->set_incarnation_id(std::string(16, 'p'));
                r.mutable_proof()->set_reserved_until_ms(0);
              }),
              IsEmpty());
}

TEST(ValidationTest, MetadataIsAtMostOneKibibyteSerialised) {
  // 1 + 2 for the entry, 1 + 1 + 1 for the key, 1 + 2 for the value.
  const size_t overhead = 9;
  const auto with = [](size_t size) {
    return ClaimWith([&](auto& r) { (*r.mutable_metadata())["k"] = std::string(size, 'v'); });
  };
  EXPECT_THAT(with(1024 - overhead), IsEmpty());
  EXPECT_THAT(with(1025 - overhead), ElementsAre("metadata"));
  EXPECT_THAT(ClaimWith([](auto& r) { (*r.mutable_metadata())["k"] = std::string("\0", 1); }),
              ElementsAre("metadata.value"));
  EXPECT_THAT(ClaimWith([](auto& r) { (*r.mutable_metadata())[""] = "v"; }),
              ElementsAre("metadata.key"));
}

TEST(ValidationTest, ReleaseAbandonContradictsATimestamp) {
  v1::ReleaseRequest request;
  request.set_namespace_("orders");
  request.set_machine_id(0);
  request.set_instance_id("orders-1");
  request.set_token(1);
  request.set_abandon(true);
  EXPECT_THAT(Validate(request), IsOk());
  request.set_last_timestamp_ms(5);
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("abandon"));
  request.set_last_timestamp_ms(-5);
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("last_timestamp_ms"));
}

// Without a window end nothing else bounds them: the id would never be granted again.
TEST(ValidationTest, TimestampsOfAFinerUnitAreRefused) {
  constexpr int64_t kNanos = 1'790'000'000'000'000'000;
  v1::ReleaseRequest release;
  release.set_namespace_("orders");
  release.set_machine_id(0);
  release.set_instance_id("orders-1");
  release.set_token(1);
  release.set_last_timestamp_ms(kNanos);
  EXPECT_THAT(Fields(Validate(release)), ElementsAre("last_timestamp_ms"));
  v1::RenewRequest renewal;
  renewal.set_last_timestamp_ms(kNanos);
  EXPECT_THAT(Fields(Validate(renewal)), Contains("last_timestamp_ms"));
  v1::WatermarkRequest watermark;
  watermark.mutable_raise()->set_raise_to_ms(kNanos);
  EXPECT_THAT(Fields(Validate(watermark)), Contains("raise.raise_to_ms"));
  EXPECT_THAT(ClaimWith([](auto& r) {
                r.mutable_proof()->set_incarnation_id(std::string(16, 'p'));
                r.mutable_proof()->set_reserved_until_ms(kNanos);
              }),
              ElementsAre("proof.reserved_until_ms"));
}

TEST(ValidationTest, RaiseIsCompleteOrAbsent) {
  v1::WatermarkRequest request;
  request.set_namespace_("orders");
  request.set_machine_id(3);
  EXPECT_THAT(Validate(request), IsOk());
  request.mutable_raise();
  EXPECT_THAT(Fields(Validate(request)),
              UnorderedElementsAre("raise.instance_id", "raise.token", "raise.raise_to_ms"));
}

TEST(ValidationTest, KeepAliveMessageHasAtMost1024Renewals) {
  v1::KeepAliveRequest request;
  for (int i = 0; i < 1024; ++i) request.add_renewals();
  EXPECT_THAT(Validate(request), IsOk());
  request.add_renewals();
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("renewals"));
}

TEST(ValidationTest, AdminPagesHaveBounds) {
  v1::ListLeasesRequest request;
  request.set_namespace_("orders");
  for (const int size : {0, 1, 1000}) {
    request.set_page_size(size);
    EXPECT_THAT(Validate(request), IsOk());
  }
  for (const int size : {-1, 1001}) {
    request.set_page_size(size);
    EXPECT_THAT(Fields(Validate(request)), ElementsAre("page_size"));
  }
  request.set_state(static_cast<v1::LeaseState>(77));
  EXPECT_THAT(Fields(Validate(request)), UnorderedElementsAre("page_size", "state"));
}

TEST(ValidationTest, AdminWritesNeedAReasonOfBoundedLength) {
  v1::DeleteNamespaceRequest request;
  request.set_name("orders");
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("reason"));
  request.set_reason(std::string(501, 'r'));
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("reason"));
  request.set_reason(std::string(500, 'r'));
  EXPECT_THAT(Validate(request), IsOk());
}

TEST(ValidationTest, ReservedIdsAreDistinctAndBounded) {
  v1::ReserveIdsRequest request;
  request.set_namespace_("orders");
  request.set_reason("rack 4 is being replaced");
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("machine_ids"));
  for (uint32_t id = 0; id < 4096; ++id) request.add_machine_ids(id);
  EXPECT_THAT(Validate(request), IsOk());
  request.set_machine_ids(7, 8);
  EXPECT_THAT(std::string(Validate(request).message()), HasSubstr("has 8 twice"));
  request.set_machine_ids(7, 1u << 30);
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("machine_ids"));
  request.set_machine_ids(7, 7);
  request.add_machine_ids(5000);
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("machine_ids"));
}

TEST(ValidationTest, NamespaceUpdateRefusesContradictions) {
  v1::UpdateNamespaceRequest request;
  request.set_name("orders");
  request.set_reason("grow");
  request.set_lease_cap(0);
  request.set_clear_lease_cap(true);
  SetDuration(request.mutable_pinned_safe_guard_duration(), 0, 5);
  request.set_clear_pinned_safe_guard_duration(true);
  request.set_allow_missing(true);
  EXPECT_THAT(Fields(Validate(request)),
              UnorderedElementsAre("lease_cap", "clear_lease_cap", "pinned_safe_guard_duration",
                                   "clear_pinned_safe_guard_duration", "machine_bits"));
}

TEST(ValidationTest, ForceReleaseNeedsTheExpectedToken) {
  v1::ForceReleaseRequest request;
  request.set_namespace_("orders");
  request.set_machine_id(4);
  request.set_reason("host is gone");
  SetDuration(request.mutable_quarantine(), -3);
  EXPECT_THAT(Fields(Validate(request)), UnorderedElementsAre("expected_token", "quarantine"));
}

TEST(ValidationTest, OwnerNeedsATimestamp) {
  v1::FindOwnerRequest request;
  request.set_namespace_("orders");
  request.set_machine_id(4);
  EXPECT_THAT(Fields(Validate(request)), ElementsAre("timestamp_ms"));
}

}  // namespace
}  // namespace snowlease::service
