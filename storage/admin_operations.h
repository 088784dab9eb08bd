#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "storage/lease_rows.h"
#include "storage/lease_rules.h"

// What operators do, as steps over the rows of one write transaction; see
// lease_operations.h. Every write leaves an audit row.

namespace snowlease::storage {

// Errors: NOT_FOUND, NAMESPACE_POLICY.
absl::StatusOr<NamespaceRow> UpdateNamespace(LeaseRows& rows, const NamespaceUpdate& update,
                                             const AdminContext& admin, const RuleContext& context);
// Errors: NOT_FOUND, NAMESPACE_NOT_EMPTY.
absl::Status DeleteNamespace(LeaseRows& rows, const std::string& name, const AdminContext& admin,
                             const RuleContext& context);
// Answers the floor of the next grant. Errors: NOT_FOUND, MACHINE_ID_LOST.
absl::StatusOr<ClientTime> ForceRelease(LeaseRows& rows, const ForceReleaseSpec& spec,
                                        const AdminContext& admin, const RuleContext& context);
// Errors: NOT_FOUND, NAMESPACE_POLICY. All or none.
absl::Status ReserveIds(LeaseRows& rows, const std::string& name_space,
                        std::span<const uint32_t> ids, const AdminContext& admin,
                        const RuleContext& context);
// Errors: NOT_FOUND, NAMESPACE_POLICY. All or none.
absl::Status UnreserveIds(LeaseRows& rows, const std::string& name_space,
                          std::span<const uint32_t> ids, std::optional<ClientTime> floor,
                          const AdminContext& admin, const RuleContext& context);

// Reads.
absl::StatusOr<NamespaceDetail> DescribeNamespace(LeaseRows& rows, const std::string& name,
                                                  const RuleContext& context);
absl::StatusOr<std::vector<LeaseDetail>> ListLeases(LeaseRows& rows, const std::string& name_space,
                                                    const LeaseFilter& filter, uint32_t from,
                                                    int limit, const RuleContext& context);
absl::StatusOr<LeaseHistory> DescribeLease(LeaseRows& rows, const std::string& name_space,
                                           uint32_t machine_id, const RuleContext& context);
absl::StatusOr<std::vector<GrantRow>> FindOwner(LeaseRows& rows, const std::string& name_space,
                                                uint32_t machine_id, ClientTime timestamp);
absl::StatusOr<WatermarkReading> ReadWatermark(LeaseRows& rows, const std::string& name_space,
                                               uint32_t machine_id, const RuleContext& context);

}  // namespace snowlease::storage
