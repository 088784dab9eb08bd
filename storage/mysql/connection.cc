#include "storage/mysql/connection.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <mutex>

#include "storage/errors.h"

namespace snowlease::storage::mysql {
namespace {

// As its own statement: it starts when the locks of the transaction are held. UTC by
// definition, so that neither the session's time zone nor the hour that a change from
// summer time repeats matters; nor does sysdate-is-now.
constexpr char kClock[] =
    "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000";

unsigned Seconds(Millis time) {
  return static_cast<unsigned>(std::max<int64_t>(1, time.count() / 1000));
}

std::string PasswordOf(const MysqlOptions& options) {
  if (options.password_file.empty()) return options.password;
  std::ifstream file(options.password_file);
  std::string password;
  if (!std::getline(file, password)) {
    throw DatabaseFailure(StoreUnavailableError("password_file " + options.password_file +
                                                " cannot be read, or is empty"),
                          AfterFailure::kGiveUp);
  }
  while (!password.empty() && (password.back() == '\r' || password.back() == '\n')) {
    password.pop_back();
  }
  return password;
}

void InitLibrary() {
  static std::once_flag once;
  std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
}

struct Version {
  int major = 0;
  int minor = 0;
};

Version ParseVersion(const std::string& text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.major);
  if (error == std::errc() && dot != end) std::from_chars(dot + 1, end, version.minor);
  return version;
}

[[noreturn]] void Refuse(const std::string& what) {
  throw DatabaseFailure(StoreUnavailableError(what), AfterFailure::kGiveUp);
}

}  // namespace

// ---- Rows ----

bool Rows::Next() {
  row_ = mysql_fetch_row(result_.get());
  if (row_ == nullptr) return false;
  lengths_ = mysql_fetch_lengths(result_.get());
  column_ = 0;
  return true;
}

std::string_view Rows::TakeRaw() {
  const unsigned column = column_++;
  if (row_[column] == nullptr) return {};
  return {row_[column], lengths_[column]};
}

int64_t Rows::TakeInt() {
  const std::string_view text = TakeRaw();
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string Rows::TakeText() { return std::string(TakeRaw()); }

std::array<uint8_t, 16> Rows::TakeId() {
  const std::string_view text = TakeRaw();
  std::array<uint8_t, 16> id{};
  std::memcpy(id.data(), text.data(), std::min(text.size(), id.size()));
  return id;
}

// ---- Connection ----

Connection::Connection(const MysqlOptions& options) {
  InitLibrary();
  if (!options.socket.empty()) Connect(options, nullptr);
  const size_t count = options.socket.empty() ? options.hosts.size() : 0;
  for (size_t i = 0; i < count; ++i) {
    try {
      Connect(options, &options.hosts[i]);
      return;
    } catch (const DatabaseFailure& failure) {
      const bool last = i + 1 == count;
      if (last || failure.after() == AfterFailure::kGiveUp) throw;
    }
  }
}

Connection::~Connection() = default;

void Connection::Connect(const MysqlOptions& options, const MysqlHost* host) {
  handle_.reset(mysql_init(nullptr));
  if (handle_ == nullptr) throw std::bad_alloc();
  lost_ = false;
  server_ = host == nullptr ? options.socket : host->name + ":" + std::to_string(host->port);
  const unsigned connect_timeout = Seconds(options.connect_timeout);
  const unsigned network_timeout = Seconds(options.network_timeout);
  mysql_options(handle_.get(), MYSQL_OPT_CONNECT_TIMEOUT, &connect_timeout);
  mysql_options(handle_.get(), MYSQL_OPT_READ_TIMEOUT, &network_timeout);
  mysql_options(handle_.get(), MYSQL_OPT_WRITE_TIMEOUT, &network_timeout);
  mysql_options(handle_.get(), MYSQL_SET_CHARSET_NAME, "utf8mb4");
  if (options.tls != MysqlOptions::Tls::kOff) {
    my_bool yes = 1;
    my_bool verify = options.tls == MysqlOptions::Tls::kVerify ? 1 : 0;
    mysql_options(handle_.get(), MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(handle_.get(), MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (!options.tls_ca.empty()) {
      mysql_ssl_set(handle_.get(), nullptr, nullptr, options.tls_ca.c_str(), nullptr, nullptr);
    }
  }
  const std::string password = PasswordOf(options);
  // Without CLIENT_FOUND_ROWS a row that is set to what it was looks as if it were gone.
  const MYSQL* const connected = mysql_real_connect(
      handle_.get(), host == nullptr ? nullptr : host->name.c_str(), options.user.c_str(),
      password.c_str(), options.database.c_str(), host == nullptr ? 0 : host->port,
      host == nullptr ? options.socket.c_str() : nullptr, CLIENT_FOUND_ROWS);
  if (connected == nullptr) Fail();
  SetUp(options);
}

void Connection::SetUp(const MysqlOptions& options) {
  Rows rows = Query("SELECT VERSION(), @@GLOBAL.read_only + 0");
  if (!rows.Next()) Fail();
  const std::string version = rows.TakeText();
  const bool read_only = rows.TakeBool();
  CheckVersion(version, server_);
  server_ = version + " at " + server_;
  if (read_only) throw MeaningOf(1290, "the server runs with read_only", server_);
  Execute(
      "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00', "
      "timestamp = DEFAULT, autocommit = 1, innodb_lock_wait_timeout = " +
      std::to_string(Seconds(options.lock_timeout)));
  // On a node of a Galera cluster: reads see what other nodes have acknowledged, or a lease
  // that was just granted there would look lost here.
  Rows wsrep = Query("SHOW STATUS LIKE 'wsrep_ready'");
  if (wsrep.Next()) {
    wsrep.TakeText();
    if (wsrep.TakeText() == "ON") Execute("SET SESSION wsrep_sync_wait = 1");
  }
  // No gap locks: claims and renewals of neighbouring rows would wait for each other.
  Execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
}

void Connection::Fail() {
  const unsigned code = mysql_errno(handle_.get());
  DatabaseFailure failure = MeaningOf(code, mysql_error(handle_.get()), server_);
  lost_ = lost_ || failure.after() == AfterFailure::kLeave;
  throw failure;
}

void Connection::Send(const std::string& sql) {
  if (mysql_real_query(handle_.get(), sql.data(), sql.size()) != 0) Fail();
}

Rows Connection::Query(const std::string& sql) {
  Send(sql);
  MYSQL_RES* const result = mysql_store_result(handle_.get());
  if (result == nullptr) Fail();
  return Rows(result);
}

uint64_t Connection::Execute(const std::string& sql) {
  Send(sql);
  return mysql_affected_rows(handle_.get());
}

void Connection::Begin(Kind kind) {
  if (kind == Kind::kRead) {
    Execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    Execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY");
  } else {
    Execute("START TRANSACTION");
  }
  in_transaction_ = true;
}

void Connection::Commit() {
  in_transaction_ = false;
  Execute("COMMIT");
}

void Connection::Rollback() noexcept {
  in_transaction_ = false;
  if (mysql_real_query(handle_.get(), "ROLLBACK", 8) != 0) lost_ = true;
}

StoreTime Connection::ReadClock() {
  Rows rows = Query(kClock);
  if (!rows.Next()) Fail();
  return rows.TakeTime<StoreTime>();
}

void CheckVersion(const std::string& version, const std::string& server) {
  const auto [major, minor] = ParseVersion(version);
  const bool maria = version.find("MariaDB") != std::string::npos;
  const std::string name = maria ? "MariaDB" : "MySQL";
  const bool known = maria ? major > 10 || (major == 10 && minor >= 6) : major >= 8;
  if (version.find("TiDB") != std::string::npos) {
    Refuse(server + " is TiDB (" + version + "), which lacks what this store needs");
  }
  if (!known) {
    Refuse(server + " is " + name + " " + version +
           "; this store needs MySQL 8.0 or later, or MariaDB 10.6 or later");
  }
}

}  // namespace snowlease::storage::mysql
