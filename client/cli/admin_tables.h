#pragma once

#include "client/cli/output.h"
#include "snowlease/v1/admin.pb.h"

namespace snowlease::cli {

Table NamespaceTable();
void AddNamespace(Table& table, const v1::Namespace& name_space);
Table LeaseTable();
void AddLease(Table& table, const v1::LeaseRecord& lease);
Table GrantTable();
void AddGrant(Table& table, const v1::Grant& grant);

}  // namespace snowlease::cli
