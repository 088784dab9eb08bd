#include "storage/postgres/postgres_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/errors.h"
#include "tests/testing/matchers.h"

namespace snowlease::storage {
namespace {

using snowlease::testing::HasReason;
using snowlease::testing::IsOk;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(PostgresUrl, OwnOptionsAreTakenOutAndDefaultsAreAdded) {
  const auto url = ParsePostgresUrl(
      "postgresql://u:p@h1:1,h2:2/d?schema=leases&sslmode=require&connections=5&timeout_ms=700");
  ASSERT_THAT(url, IsOk());
  EXPECT_EQ(url->schema, "leases");
  EXPECT_EQ(url->connections, 5);
  EXPECT_EQ(url->timeout, Millis(700));
  EXPECT_EQ(url->where, "PostgreSQL at h1:1,h2:2/d");
  EXPECT_THAT(url->libpq_url, HasSubstr("postgresql://u:p@h1:1,h2:2/d?sslmode=require&"));
  EXPECT_THAT(url->libpq_url, HasSubstr("target_session_attrs=read-write"));
  EXPECT_THAT(url->libpq_url, Not(HasSubstr("schema")));
}

TEST(PostgresUrl, WhatTheUrlSaysIsNotOverruled) {
  const auto url = ParsePostgresUrl("postgres://h/d?target_session_attrs=any&connect_timeout=9");
  ASSERT_THAT(url, IsOk());
  EXPECT_THAT(url->libpq_url, HasSubstr("target_session_attrs=any"));
  EXPECT_THAT(url->libpq_url, Not(HasSubstr("read-write")));
  EXPECT_THAT(url->libpq_url, HasSubstr("connect_timeout=9"));
  EXPECT_EQ(url->connections, 2);
}

TEST(PostgresUrl, BadUrlsAreRefusedWithoutTheirPassword) {
  for (const char* text :
       {"postgresql:", "postgresql:u:geheim@h/d", "postgresql://u:geheim%zz@h/d",
        "postgresql://u:geheim@h/d?connections=1", "postgresql://u:geheim@h/d?connections=x",
        "postgresql://u:geheim@h/d?timeout_ms=0", "postgresql://u:geheim@h/d?schema=",
        "postgresql://u:geheim@h/d?no_such_option=1", "mysql://u:geheim@h/d"}) {
    const auto url = ParsePostgresUrl(text);
    EXPECT_THAT(url, HasReason(Reason::kInvalidArgument)) << text;
    EXPECT_THAT(url.status().ToString(), Not(HasSubstr("geheim")));
  }
}

}  // namespace
}  // namespace snowlease::storage
