#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/lease.h"

// Everything a record says, as text: for comparing answers and for failure messages.

namespace snowlease::testing {

std::string Describe(const storage::LeaseRow& row);
std::string Describe(const storage::Lease& lease);
std::string Describe(const storage::NamespaceRow& row);
std::string Describe(const storage::NamespaceDetail& detail);
std::string Describe(const storage::GrantRow& grant);
std::string Describe(const storage::LeaseDetail& detail);
std::string Describe(const storage::LeaseHistory& history);
std::string Describe(const storage::AuditRow& row);
std::string Describe(const storage::WatermarkReading& reading);
std::string Describe(const storage::ClientTime& time);
// Reason, metadata and delay.
std::string Describe(const absl::Status& status);

template <typename T>
std::string Describe(const std::vector<T>& items) {
  std::string text;
  for (const T& item : items) text += Describe(item) + "\n";
  return text;
}

template <typename T>
std::string Describe(const absl::StatusOr<T>& result) {
  return result.ok() ? Describe(*result) : Describe(result.status());
}

}  // namespace snowlease::testing
