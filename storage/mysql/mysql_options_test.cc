#include "storage/mysql/mysql_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/errors.h"

namespace snowlease::storage {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

MysqlOptions Parsed(const std::string& text) {
  auto options = ParseMysqlUrl(text);
  EXPECT_TRUE(options.ok()) << text << ": " << options.status();
  return options.ok() ? *options : MysqlOptions();
}

std::string Violation(const std::string& text) {
  const auto options = ParseMysqlUrl(text);
  const auto violations = FieldViolationsOf(options.status());
  if (violations.size() != 1) return "not one violation";
  EXPECT_EQ(violations.front().field, "store.url");
  return violations.front().description;
}

TEST(MysqlUrl, PartsAndOptions) {
  const MysqlOptions one = Parsed("//u:p%40%25@db/snow%5flease");
  EXPECT_EQ(one.user, "u");
  EXPECT_EQ(one.password, "p@%");
  EXPECT_EQ(one.database, "snow_lease");
  ASSERT_EQ(one.hosts.size(), 1u);
  EXPECT_EQ(one.hosts.front().name, "db");
  EXPECT_EQ(one.hosts.front().port, 3306);

  const MysqlOptions many = Parsed(
      "//u@h1:1,[::1]:2,h3/d?password_file=/run/secret&tls=verify&tls_ca=/ca.pem&connections=4&"
      "connect_timeout_s=1&network_timeout_s=20&lock_timeout_s=3");
  ASSERT_EQ(many.hosts.size(), 3u);
  EXPECT_EQ(many.hosts[1].name, "::1");
  EXPECT_EQ(many.hosts[1].port, 2);
  EXPECT_EQ(many.hosts[2].name, "h3");
  EXPECT_EQ(many.password_file, "/run/secret");
  EXPECT_EQ(many.tls, MysqlOptions::Tls::kVerify);
  EXPECT_EQ(many.tls_ca, "/ca.pem");
  EXPECT_EQ(many.connections, 4);
  EXPECT_EQ(many.connect_timeout, Millis(1000));
  EXPECT_EQ(many.network_timeout, Millis(20'000));
  EXPECT_EQ(many.lock_timeout, Millis(3000));

  EXPECT_EQ(Parsed("//u@/d?socket=/run/mysqld.sock").socket, "/run/mysqld.sock");
}

TEST(MysqlUrl, FaultsAreToldApartAndPasswordsNotAtAll) {
  EXPECT_THAT(Violation("db/x"), HasSubstr("write mysql://USER:PASSWORD@HOST"));
  EXPECT_THAT(Violation("//u:secret@db"),
              AllOf(HasSubstr("the database is missing"), Not(HasSubstr("secret"))));
  EXPECT_THAT(Violation("//db/x"), HasSubstr("the user is missing"));
  EXPECT_THAT(Violation("//u@/x"), HasSubstr("the host is missing"));
  EXPECT_THAT(Violation("//u@db:0/x"), HasSubstr("the port"));
  EXPECT_THAT(Violation("//u@db:x/x"), HasSubstr("the port"));
  EXPECT_THAT(Violation("//u@,db/x"), HasSubstr("a host has no name"));
  EXPECT_THAT(Violation("//u:se%cret@db/x"), AllOf(HasSubstr("write %25"), Not(HasSubstr("cret"))));
  EXPECT_THAT(Violation("//u@db/x?timeout=1"),
              AllOf(HasSubstr("no option \"timeout\""), HasSubstr("lock_timeout_s")));
  EXPECT_THAT(Violation("//u@db/x?tls=on"), HasSubstr("off, required or verify"));
  EXPECT_THAT(Violation("//u@db/x?tls=verify"), HasSubstr("needs tls_ca"));
  EXPECT_THAT(Violation("//u@db/x?connections=0"), HasSubstr("connections must be"));
  for (const char* name : {"connect_timeout_s", "network_timeout_s", "lock_timeout_s"}) {
    for (const char* value : {"0", "-1", "", "x", "3601"}) {
      EXPECT_THAT(Violation(std::string("//u@db/x?") + name + "=" + value),
                  HasSubstr(std::string(name) + " must be a whole number of seconds"));
    }
  }
  EXPECT_THAT(Violation("//u@db/x?lock_timeout_s=10"), HasSubstr("shorter than network_timeout_s"));
  EXPECT_THAT(Violation("//u:secret@db/x?password_file=/f"),
              AllOf(HasSubstr("not both"), Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace snowlease::storage
