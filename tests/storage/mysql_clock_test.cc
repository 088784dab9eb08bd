#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/mysql/connection.h"
#include "storage/mysql/mysql_lease_store.h"
#include "tests/testing/matchers.h"
#include "tests/testing/mysql_server.h"

// The database's clock is UTC, whatever time zone server and session have.

namespace snowlease::testing {
namespace {

using storage::Clock;
using storage::Millis;
using storage::StoreTime;
using storage::mysql::Connection;

constexpr int64_t kFoldStart = 1'761'436'800;  // 2025-10-26 00:00 UTC, 02:00 in Berlin
constexpr int64_t kHour = 3600;

// In the hour that Berlin's clocks show twice, and around it.
TEST(MysqlClock, GoesOnByItselfWhenSummerTimeEnds) {
  MysqlServer server({.flags = {}, .time_zone = "Europe/Berlin"});
  Connection session(server.Options(server.NewDatabase()));
  for (const char* zone : {"SYSTEM", "+00:00", "+13:00"}) {
    session.Execute(std::string("SET SESSION time_zone = '") + zone + "'");
    for (int64_t at = kFoldStart - kHour; at <= kFoldStart + 3 * kHour; at += kHour / 2) {
      session.Execute("SET SESSION timestamp = " + std::to_string(at));
      EXPECT_EQ(session.ReadClock(), StoreTime{at * 1000}) << zone;
    }
  }
}

TEST(MysqlClock, IsTheHostsUtcInAnyServerTimeZone) {
  for (const char* zone : {"--default-time-zone=+13:00", "--default-time-zone=-11:30"}) {
    MysqlServer server({.flags = {zone, "--sysdate-is-now"}, .time_zone = "America/New_York"});
    Connection session(server.Options(server.NewDatabase()));
    const int64_t before = Clock::Real()->Now().ms;
    const StoreTime read = session.ReadClock();
    EXPECT_GE(read.ms, before - 1);
    EXPECT_LE(read.ms, Clock::Real()->Now().ms + 1);
  }
}

// It is read when the locks are held, and must then be later than the transaction's start.
TEST(MysqlClock, DoesNotStandStillInATransaction) {
  MysqlServer server;
  Connection session(server.Options(server.NewDatabase()));
  session.Begin(Connection::Kind::kWrite);
  const StoreTime first = session.ReadClock();
  EXPECT_TRUE(EventuallyTrue([&] { return session.ReadClock() > first + Millis(50); }));
}

}  // namespace
}  // namespace snowlease::testing
