#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/sqlite/sqlite_lease_store.h"
#include "tests/testing/fake_clock.h"

namespace snowlease::storage {

// A store in a directory of its own, on a fake clock.
class SqliteFolder {
 public:
  SqliteFolder();
  ~SqliteFolder();

  std::filesystem::path folder() const { return folder_; }
  std::string path() const { return folder_ / "leases.db"; }
  SqliteOptions Options() const;
  absl::StatusOr<std::unique_ptr<SqliteLeaseStore>> Open() { return Open(Options()); }
  absl::StatusOr<std::unique_ptr<SqliteLeaseStore>> Open(const SqliteOptions& options);
  // Opened and migrated; throws when that fails.
  std::unique_ptr<SqliteLeaseStore> Ready() { return Ready(Options()); }
  std::unique_ptr<SqliteLeaseStore> Ready(const SqliteOptions& options);
  testing::FakeClock& clock() { return clock_; }

 private:
  std::filesystem::path folder_;
  testing::FakeClock clock_;
};

// A claim by a client with a good clock; each has an incarnation of its own.
ClaimSpec ClaimOf(const std::string& name_space, const std::string& instance_id,
                  const Clock& clock);
RenewSpec RenewOf(const Lease& lease, const Clock& clock);

// Runs `work` in a child process; answers the text it returned, empty for all is well,
// or how the child died.
std::string RunInChild(const std::function<std::string()>& work);
// The same with several children that start at the same moment; one text each.
std::vector<std::string> RunInChildren(int count, const std::function<std::string(int)>& work);
// Gives the rights of root away in a child; nothing to do for other users.
void BecomeNobody();

// Bounded wait in real time for something that another thread or process does.
bool Eventually(const std::function<bool()>& condition);

}  // namespace snowlease::storage
