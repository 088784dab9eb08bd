#include "storage/sqlite/sqlite_errors.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>

#include "storage/errors.h"

namespace snowlease::storage {
namespace {

std::string Cause(int code, int system_errno) {
  std::string text = std::string(sqlite3_errstr(code)) + ", SQLite code " + std::to_string(code);
  if (system_errno != 0) text += std::string(", ") + std::strerror(system_errno);
  return text;
}

bool IsNoRoom(int system_errno) {
  return system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG;
}

absl::Status NoRoomError(const std::string& path) {
  return StoreUnavailableError("no room left on the disk of " + path +
                               ": nothing of this call was written; free disk space or raise the "
                               "quota, the server goes on by itself");
}

}  // namespace

absl::Status SqliteError(int code, int system_errno, const std::string& path,
                         std::string_view statement) {
  const std::string cause = " (" + Cause(code, system_errno) + ")";
  switch (code & 0xff) {
    case SQLITE_FULL:
      return NoRoomError(path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_INTERRUPT:
      return StoreTimeoutError(path + " is locked by another process" + cause +
                               "; close other programs that have the file open");
    case SQLITE_IOERR:
      if (IsNoRoom(system_errno)) return NoRoomError(path);
      return StoreUnavailableError(path + ": the disk failed" + cause +
                                   "; look at the system log and at the file system");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return StoreUnavailableError(path + " cannot be written" + cause +
                                   "; give the server's user the right to write the file and its "
                                   "directory");
    case SQLITE_CANTOPEN:
      return StoreUnavailableError(path + " cannot be opened" + cause +
                                   "; it must be a file that the server's user may read and "
                                   "write, in a directory that it may write");
    case SQLITE_NOMEM:
    case SQLITE_PROTOCOL:
      return StoreUnavailableError(path + cause);
    case SQLITE_NOTADB:
      return InternalError(path + " is not an SQLite database" + cause +
                           "; name another file, or restore this one from a backup");
    case SQLITE_CORRUPT:
      return InternalError(path + " is damaged" + cause +
                           "; stop the server and restore the file from a backup");
    default:
      return InternalError(path + cause + ": " + std::string(statement));
  }
}

absl::Status FileError(int system_errno, const std::string& path, std::string_view doing) {
  if (IsNoRoom(system_errno)) return NoRoomError(path);
  return StoreUnavailableError("cannot " + std::string(doing) + " " + path + ": " +
                               std::strerror(system_errno) +
                               "; the server's user must have the right to read and write there");
}

}  // namespace snowlease::storage
