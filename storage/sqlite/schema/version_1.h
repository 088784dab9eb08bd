#pragma once

// Times are milliseconds since the Unix epoch. Texts compare byte by byte (BINARY, the
// default). Renewals write used, window_end_ms, watermark_ms and renewed_at_ms of
// snowlease_lease, so no index may name one of these, in columns or predicate.

namespace snowlease::storage {

inline constexpr char kSchemaVersion1[] = R"sql(
CREATE TABLE snowlease_schema (
  version INTEGER NOT NULL,
  oldest_admitted INTEGER NOT NULL,
  store_id TEXT NOT NULL
);

CREATE TABLE snowlease_namespace (
  namespace TEXT NOT NULL PRIMARY KEY,
  machine_bits INTEGER NOT NULL,
  next_machine_id BIGINT NOT NULL,
  pinned_safe_guard_ms BIGINT,
  allow_trust_clock INTEGER NOT NULL,
  lease_cap BIGINT,
  base_floor_ms BIGINT NOT NULL,
  base_token BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  deleted INTEGER NOT NULL,
  free_count BIGINT NOT NULL,
  held_count BIGINT NOT NULL,
  kept_count BIGINT NOT NULL,
  reserved_count BIGINT NOT NULL
) WITHOUT ROWID;

CREATE TABLE snowlease_lease (
  namespace TEXT NOT NULL,
  machine_id BIGINT NOT NULL,
  state INTEGER NOT NULL,
  instance_id TEXT,
  incarnation_id BLOB NOT NULL,
  token BIGINT NOT NULL,
  source INTEGER NOT NULL,
  stable INTEGER NOT NULL,
  safe_guard_ms BIGINT NOT NULL,
  window_ms BIGINT NOT NULL,
  floor_ms BIGINT NOT NULL,
  used INTEGER NOT NULL,
  window_end_ms BIGINT,
  watermark_ms BIGINT NOT NULL,
  fence_ms BIGINT NOT NULL,
  claimed_at_ms BIGINT NOT NULL,
  renewed_at_ms BIGINT NOT NULL,
  free_floor_ms BIGINT,
  ended_token BIGINT NOT NULL,
  end_cause INTEGER NOT NULL,
  PRIMARY KEY (namespace, machine_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX snowlease_lease_instance ON snowlease_lease (namespace, instance_id)
  WHERE instance_id IS NOT NULL;
CREATE INDEX snowlease_lease_free ON snowlease_lease (namespace, free_floor_ms, machine_id)
  WHERE free_floor_ms IS NOT NULL;

CREATE TABLE snowlease_expiry_block (
  namespace TEXT NOT NULL,
  block BIGINT NOT NULL,
  bound_ms BIGINT NOT NULL,
  PRIMARY KEY (namespace, block)
) WITHOUT ROWID;
CREATE INDEX snowlease_expiry_block_bound
  ON snowlease_expiry_block (namespace, bound_ms, block);

CREATE TABLE snowlease_grant (
  namespace TEXT NOT NULL,
  machine_id BIGINT NOT NULL,
  token BIGINT NOT NULL,
  instance_id TEXT NOT NULL,
  incarnation_id BLOB NOT NULL,
  source INTEGER NOT NULL,
  granted_at_ms BIGINT NOT NULL,
  floor_ms BIGINT NOT NULL,
  metadata TEXT NOT NULL,
  ended_at_ms BIGINT,
  window_end_ms BIGINT,
  end_cause INTEGER NOT NULL,
  ended_unclean INTEGER NOT NULL,
  PRIMARY KEY (namespace, machine_id, token)
) WITHOUT ROWID;

CREATE TABLE snowlease_audit (
  id INTEGER PRIMARY KEY,
  at_ms BIGINT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  namespace TEXT NOT NULL,
  machine_id BIGINT,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL
);
CREATE INDEX snowlease_audit_namespace ON snowlease_audit (namespace, id);
)sql";

}  // namespace snowlease::storage
