#include "service/metrics/server_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/testing/fake_clock.h"

namespace snowlease::service {
namespace {

using std::chrono_literals::operator""ms;
using storage::EndCause;
using storage::LeaseSource;
using storage::Millis;
using storage::Reason;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ServerMetricsTest : public ::testing::Test {
 protected:
  storage::Lease LeaseFrom(LeaseSource source) {
    storage::Lease lease;
    lease.row.source = source;
    lease.store_time = {1'000'000};
    return lease;
  }

  size_t Series() {
    const std::string text = metrics_.Serialize();
    std::istringstream lines(text);
    size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line.starts_with('#') ? 0 : 1;
    return count;
  }

  snowlease::testing::FakeClock clock_;
  ServerMetrics metrics_{{"1.2.3", "sqlite", {"shop"}}, &clock_};
};

TEST_F(ServerMetricsTest, CountsClaimsBySourceAndResult) {
  storage::ClaimSpec spec;
  spec.client_time = {1'000'400};
  spec.waited = Millis(100);
  storage::Lease lease = LeaseFrom(LeaseSource::kExpired);
  lease.row.floor = {1'002'500};
  lease.superseded_live_lease = true;
  metrics_.calls().OnClaim(spec, lease, 3ms);
  spec.safe_guard = Millis(0);
  lease.clock_trusted = true;
  lease.row.floor = {5};
  metrics_.calls().OnClaim(spec, lease, 3ms);
  metrics_.calls().OnClaim(spec, storage::ClockSkewError(Millis(70'000), Millis(60'000)), 3ms);
  EXPECT_THAT(metrics_.Serialize(),
              AllOf(HasSubstr("snowlease_claims_total{result=\"OK\",source=\"expired\"} 2\n"),
                    HasSubstr("snowlease_claims_total{result=\"CLOCK_SKEW\",source=\"none\"} 1\n"),
                    HasSubstr("snowlease_takeovers_total 2\n"),
                    HasSubstr("snowlease_superseded_live_leases_total 2\n"),
                    HasSubstr("snowlease_trust_clock_claims_total 1\n"),
                    HasSubstr("snowlease_never_expiring_claims_total 1\n"),
                    HasSubstr("snowlease_window_wait_seconds_sum 2\n"),
                    HasSubstr("snowlease_window_wait_seconds_bucket{le=\"0\"} 1\n"),
                    HasSubstr("snowlease_client_clock_offset_seconds_sum 1\n"),
                    HasSubstr("snowlease_claim_duration_seconds_bucket{le=\"0.005\"} 3\n")));
}

TEST_F(ServerMetricsTest, CountsRenewalsReleasesAndLossesByCause) {
  storage::Lease renewed = LeaseFrom(LeaseSource::kNew);
  renewed.row.safe_guard = Millis(300'000);
  renewed.since_renewal = Millis(65'000);
  metrics_.calls().OnRenew({}, renewed, 1ms);
  metrics_.calls().OnRenew({}, storage::MachineIdLostError(EndCause::kTakenOver, {}), 1ms);
  metrics_.calls().OnRenew({}, storage::StoreTimeoutError("slow"), 1ms);
  metrics_.calls().OnRelease({}, absl::OkStatus(), 1ms);
  EXPECT_THAT(metrics_.Serialize(),
              AllOf(HasSubstr("snowlease_renewals_total{result=\"OK\"} 1\n"),
                    HasSubstr("snowlease_renewals_total{result=\"MACHINE_ID_LOST\"} 1\n"),
                    HasSubstr("snowlease_renewals_total{result=\"STORE_TIMEOUT\"} 1\n"),
                    HasSubstr("snowlease_leases_lost_total{cause=\"TAKEN_OVER\"} 1\n"),
                    HasSubstr("snowlease_leases_lost_total{cause=\"SUPERSEDED\"} 0\n"),
                    HasSubstr("snowlease_renewal_lateness_seconds_sum 5\n"),
                    HasSubstr("snowlease_releases_total{result=\"OK\"} 1\n")));
}

TEST_F(ServerMetricsTest, ShowsStoreQueueAndBatches) {
  metrics_.store().OnOperation("renew", Reason::kNone, 1ms, 100);
  metrics_.store().OnOperation("never heard of", Reason::kStoreTimeout, 1ms, 1);
  metrics_.calls().OnBatch(CallKind::kClaim, 3);
  metrics_.calls().OnRejected(CallKind::kRenew, storage::OverloadedError("full", Millis(5)));
  metrics_.SetQueueDepth([] { return size_t{42}; });
  metrics_.store().SetClock(Millis(-61'500), true);
  metrics_.store().SetSchemaVersion(7);
  EXPECT_THAT(
      metrics_.Serialize(),
      AllOf(HasSubstr("snowlease_store_operation_duration_seconds_count{backend=\"sqlite\","
                      "operation=\"renew\",result=\"OK\"} 1\n"),
            HasSubstr("operation=\"other\",result=\"STORE_TIMEOUT\""),
            HasSubstr("snowlease_batch_size_sum{kind=\"claim\"} 3\n"),
            HasSubstr("snowlease_queue_rejections_total{kind=\"renew\",reason=\"OVERLOADED\"} 1\n"),
            HasSubstr("snowlease_queue_depth 42\n"),
            HasSubstr("snowlease_store_clock_offset_seconds -61.5\n"),
            HasSubstr("snowlease_takeovers_paused 1\n"), HasSubstr("snowlease_schema_version 7\n"),
            HasSubstr("snowlease_build_info{version=\"1.2.3\"} 1\n"),
            HasSubstr("process_resident_memory_bytes "), HasSubstr("process_start_time_seconds ")));
}

// F48
TEST_F(ServerMetricsTest, SeriesStayBoundedWithTenThousandNamespaces) {
  const auto fill = [&](int namespaces) {
    NamespaceTotals totals(metrics_.listed_namespaces());
    for (int i = 0; i < namespaces; ++i) {
      storage::NamespaceRow row;
      row.name = i == 0 ? "shop" : "hostile-" + std::to_string(i);
      row.machine_bits = 10;
      row.counts.held = i == 0 ? 512 : 1;
      totals.Add(row);
      storage::ClaimSpec spec;
      spec.name_space = row.name;
      spec.instance_id = row.name;
      metrics_.calls().OnClaim(spec, LeaseFrom(LeaseSource::kNew), 1ms);
    }
    metrics_.namespaces().Set(totals);
  };
  fill(1);
  const size_t before = Series();
  fill(10'000);
  EXPECT_EQ(Series(), before);
  EXPECT_LT(before, 400u);
  EXPECT_THAT(
      metrics_.Serialize(),
      AllOf(HasSubstr("snowlease_namespaces 10000\n"),
            HasSubstr("snowlease_namespace_leases{namespace=\"shop\",state=\"held\"} 512\n"),
            HasSubstr("snowlease_namespace_leases{namespace=\"other\",state=\"held\"} 9999\n"),
            HasSubstr("snowlease_namespace_capacity{namespace=\"shop\"} 1024\n"),
            HasSubstr("snowlease_leases{state=\"held\"} 10511\n"),
            HasSubstr("snowlease_namespace_fullness_max_ratio 0.5\n"), Not(HasSubstr("hostile"))));
}

std::set<std::string> ExposedNames(const std::string& text) {
  std::set<std::string> names;
  const std::regex type("# TYPE ([a-z0-9_]+) ([a-z]+)");
  for (std::sregex_iterator it(text.begin(), text.end(), type), end; it != end; ++it) {
    names.insert((*it)[1]);
  }
  return names;
}

void ObserveEverything(ServerMetrics& metrics) {
  metrics.calls().OnRejected(CallKind::kClaim, storage::DrainingError());
  metrics.store().OnOperation("claim", Reason::kNone, 1ms, 1);
  metrics.SetCertificateExpiry([] { return 1.0; });
  metrics.SetBusyConnections([] { return 1; }, 3);
}

TEST_F(ServerMetricsTest, ConnectionsAreBusyOrIdleAndNeverMoreThanThereAre) {
  int busy = 1;
  metrics_.SetBusyConnections([&] { return busy; }, 3);
  EXPECT_THAT(metrics_.Serialize(),
              ::testing::AllOf(HasSubstr("snowlease_store_connections{state=\"busy\"} 1\n"),
                               HasSubstr("snowlease_store_connections{state=\"idle\"} 2\n")));
  busy = 7;
  EXPECT_THAT(metrics_.Serialize(),
              ::testing::AllOf(HasSubstr("snowlease_store_connections{state=\"busy\"} 3\n"),
                               HasSubstr("snowlease_store_connections{state=\"idle\"} 0\n")));
}

TEST_F(ServerMetricsTest, NamesFollowTheConventions) {
  ObserveEverything(metrics_);
  const std::string text = metrics_.Serialize();
  EXPECT_GT(ExposedNames(text).size(), 25u);
  const std::regex counters("# TYPE ([a-z0-9_]+) counter");
  for (std::sregex_iterator it(text.begin(), text.end(), counters), end; it != end; ++it) {
    EXPECT_TRUE((*it)[1].str().ends_with("_total")) << (*it)[1];
  }
  for (const std::string& name : ExposedNames(text)) {
    EXPECT_TRUE(name.starts_with("snowlease_") || name.starts_with("grpc_server_") ||
                name.starts_with("process_"))
        << name;
    EXPECT_THAT(name,
                Not(::testing::AnyOf(HasSubstr("_ms"), HasSubstr("milli"), HasSubstr("_kb"))));
  }
}

TEST_F(ServerMetricsTest, EveryMetricIsDocumented) {
  std::ifstream file(SNOWLEASE_SOURCE_DIR "/docs/operations.md");
  std::stringstream docs;
  docs << file.rdbuf();
  ObserveEverything(metrics_);
  for (const std::string& name : ExposedNames(metrics_.Serialize())) {
    EXPECT_THAT(docs.str(), HasSubstr("`" + name)) << name;
  }
}

TEST_F(ServerMetricsTest, RemembersTheLastScrape) {
  EXPECT_FALSE(metrics_.last_scrape().has_value());
  metrics_.Serialize();
  EXPECT_EQ(metrics_.last_scrape(), clock_.SteadyNow());
}

}  // namespace
}  // namespace snowlease::service
