#include "storage/mysql/mysql_errors.h"

#include "storage/errors.h"

namespace snowlease::storage::mysql {
namespace {

struct Meaning {
  unsigned code;
  AfterFailure after;
  bool timeout;
  const char* advice;
};

constexpr char kBusy[] = "another transaction holds the rows for too long";
constexpr char kLost[] = "the connection was lost; the store connects again by itself";
constexpr char kShut[] = "the server is shutting down; the store connects again by itself";
constexpr char kAway[] = "is it running, and are host and port of store.url right?";
constexpr char kFull[] =
    "it has no more connections to give: raise its max_connections or the user's limit";
constexpr char kLogin[] =
    "user and password of store.url must be right, and the user have all rights on the database";
constexpr char kRights[] =
    "grant the user SELECT, INSERT, UPDATE and DELETE on the database, and CREATE, ALTER and "
    "INDEX for migrations (or run `snowlease-server migrate` as a user who has them)";
constexpr char kReadOnly[] =
    "it is read-only, as after a failover: name the server that takes writes in store.url";
constexpr char kNoRoom[] =
    "no room left on its disk: nothing of this call was written; free disk space, the store goes "
    "on by itself";
constexpr char kNoDatabase[] = "create the database, or name another in store.url";
constexpr char kNoTable[] =
    "a table is missing or of another shape: run `snowlease-server migrate`, or restore a backup";
constexpr char kCluster[] = "the node is not part of its cluster's primary component";
constexpr char kTls[] = "TLS failed: look at tls, tls_ca and the server's certificate";

constexpr Meaning kMeanings[] = {
    // Locks. A lost certification of Galera is a 1213 of COMMIT.
    {1205, AfterFailure::kRepeatOnce, true, kBusy},
    {1213, AfterFailure::kRepeat, true, kBusy},
    {1020, AfterFailure::kRepeat, true, kBusy},
    {1614, AfterFailure::kRepeat, true, kBusy},
    {3572, AfterFailure::kRepeat, true, kBusy},
    // Statement timeouts and KILL QUERY.
    {1317, AfterFailure::kGiveUp, true, "the statement was interrupted"},
    {1969, AfterFailure::kGiveUp, true, "the server's max_statement_time has passed"},
    {3024, AfterFailure::kGiveUp, true, "the server's max_execution_time has passed"},
    // Connections.
    {2002, AfterFailure::kLeave, false, kAway},
    {2003, AfterFailure::kLeave, false, kAway},
    {2005, AfterFailure::kLeave, false, kAway},
    {2006, AfterFailure::kLeave, false, kLost},
    {2013, AfterFailure::kLeave, false, kLost},
    {2014, AfterFailure::kLeave, false, kLost},
    {2027, AfterFailure::kLeave, false, kLost},
    {2055, AfterFailure::kLeave, false, kLost},
    {1152, AfterFailure::kLeave, false, kLost},
    {1158, AfterFailure::kLeave, false, kLost},
    {1159, AfterFailure::kLeave, false, kLost},
    {1160, AfterFailure::kLeave, false, kLost},
    {1161, AfterFailure::kLeave, false, kLost},
    {1184, AfterFailure::kLeave, false, kLost},
    {1927, AfterFailure::kLeave, false, kLost},
    {4031, AfterFailure::kLeave, false, kLost},
    {1053, AfterFailure::kLeave, false, kShut},
    {1077, AfterFailure::kLeave, false, kShut},
    {1079, AfterFailure::kLeave, false, kShut},
    {1040, AfterFailure::kLeave, false, kFull},
    {1203, AfterFailure::kLeave, false, kFull},
    {1226, AfterFailure::kLeave, false, kFull},
    {1047, AfterFailure::kLeave, false, kCluster},
    {2026, AfterFailure::kLeave, false, kTls},
    // Another server may take writes now.
    {1290, AfterFailure::kLeave, false, kReadOnly},
    {1792, AfterFailure::kLeave, false, kReadOnly},
    {1836, AfterFailure::kLeave, false, kReadOnly},
    // Rights.
    {1044, AfterFailure::kGiveUp, false, kLogin},
    {1045, AfterFailure::kGiveUp, false, kLogin},
    {1130, AfterFailure::kGiveUp, false, kLogin},
    {1251, AfterFailure::kGiveUp, false, kLogin},
    {1698, AfterFailure::kGiveUp, false, kLogin},
    {2059, AfterFailure::kGiveUp, false, kLogin},
    {2061, AfterFailure::kGiveUp, false, kLogin},
    {1142, AfterFailure::kGiveUp, false, kRights},
    {1143, AfterFailure::kGiveUp, false, kRights},
    {1227, AfterFailure::kGiveUp, false, kRights},
    {1370, AfterFailure::kGiveUp, false, kRights},
    // Disks.
    {3, AfterFailure::kGiveUp, false, kNoRoom},
    {28, AfterFailure::kGiveUp, false, kNoRoom},
    {1021, AfterFailure::kGiveUp, false, kNoRoom},
    {1026, AfterFailure::kGiveUp, false, kNoRoom},
    {1030, AfterFailure::kGiveUp, false, kNoRoom},
    {1114, AfterFailure::kGiveUp, false, kNoRoom},
    {1041, AfterFailure::kGiveUp, false, "the server has no memory left"},
    {1180, AfterFailure::kGiveUp, false, "the server could not commit"},
    // Schemas.
    {1049, AfterFailure::kGiveUp, false, kNoDatabase},
    {1054, AfterFailure::kGiveUp, false, kNoTable},
    {1146, AfterFailure::kGiveUp, false, kNoTable},
    {1932, AfterFailure::kGiveUp, false, kNoTable},
};

}  // namespace

DatabaseFailure MeaningOf(unsigned code, const std::string& text, const std::string& server) {
  const std::string cause = server + ": " + text + " (code " + std::to_string(code) + ")";
  for (const Meaning& meaning : kMeanings) {
    if (meaning.code != code) continue;
    const std::string what = cause + "; " + meaning.advice;
    return {meaning.timeout ? StoreTimeoutError(what) : StoreUnavailableError(what), meaning.after};
  }
  return {InternalError(cause), AfterFailure::kGiveUp};
}

}  // namespace snowlease::storage::mysql
