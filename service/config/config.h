#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "service/config/values.h"
#include "storage/lease_store.h"

namespace snowlease::service {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat { kText, kJson };

// What is wrong with a setting, and what to do about it.
struct ConfigProblem {
  std::string setting;  // "grpc.listen"
  std::string source;   // "flag --grpc-listen"; filled by the loader
  std::string what;     // the fault and its fix

  // "grpc.listen (flag --grpc-listen): ...".
  std::string ToString() const;
};

// The settings of a server, with their defaults. settings.h has the table of their
// names, ranges and descriptions.
struct Config {
  struct Store {
    std::string url = "sqlite:./data/snowlease.db";
    storage::MigrateMode migrate = storage::MigrateMode::kAuto;
    std::string user;
    std::string password;  // the loader fills it from password_file, too
    std::string password_file;
    storage::Millis timeout{5000};
  } store;

  struct Grpc {
    std::string listen = "127.0.0.1:7070";
    storage::Millis max_connection_age{300'000};
    storage::Millis max_connection_age_grace{30'000};
    storage::Millis keepalive_time{120'000};
    storage::Millis keepalive_timeout{20'000};
    storage::Millis min_ping_interval{10'000};
    bool reflection = true;
    bool channelz = false;

    struct Tls {
      std::string cert_file;
      std::string key_file;
      std::string client_ca_file;

      bool enabled() const { return !cert_file.empty(); }
    } tls;
  } grpc;

  struct Http {
    bool enabled = true;
    std::string listen = "127.0.0.1:7071";
    std::vector<std::string> allowed_hosts;
    int64_t threads = 16;
    storage::Millis request_timeout{10'000};
  } http;

  struct Admin {
    bool enabled = false;
  } admin;

  struct Lease {
    storage::Millis max_clock_ahead{60'000};
    storage::Millis quarantine{24 * 3'600'000};
    int64_t history = 16;
  } lease;

  struct Namespaces {
    std::vector<std::string> create = {"*"};
  } namespaces;

  struct Batching {
    int64_t max_batch = 512;
    int64_t max_queue = 8192;
    storage::Millis max_queue_age{1000};
  } batching;

  struct Log {
    LogLevel level = LogLevel::kInfo;
    LogFormat format = LogFormat::kText;
  } log;

  struct Metrics {
    std::vector<std::string> namespaces;
  } metrics;

  struct Drain {
    storage::Millis delay{0};
    storage::Millis timeout{20'000};
  } drain;

  // All that is out of range or cannot go together; empty: fit to start.
  std::vector<ConfigProblem> Validate() const;

  // The store URL with user and password put in. Never for logs.
  std::string StoreUrl() const;
  storage::StoreOptions StoreOptions() const;
};

}  // namespace snowlease::service
