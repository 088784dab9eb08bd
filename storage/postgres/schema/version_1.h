#pragma once

// Times are milliseconds since the Unix epoch. Texts compare byte by byte. Renewals write
// used, renewed_at_ms, renewed_before_ms, watermark_ms and window_end_ms of
// snowlease_lease, so no index may name one of these, in columns or predicate: with room
// left on the page (fillfactor) they are then heap-only updates. One batch may renew all
// leases of a page, so half of it is room. {s} is the schema.

namespace snowlease::storage {

inline constexpr char kPostgresSchemaVersion1[] = R"sql(
CREATE TABLE {s}.snowlease_schema (
  version INTEGER NOT NULL,
  oldest_admitted INTEGER NOT NULL,
  store_id TEXT NOT NULL
);

CREATE TABLE {s}.snowlease_namespace (
  namespace TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  machine_bits INTEGER NOT NULL,
  next_machine_id BIGINT NOT NULL,
  pinned_safe_guard_ms BIGINT,
  allow_trust_clock BOOLEAN NOT NULL,
  lease_cap BIGINT,
  base_floor_ms BIGINT NOT NULL,
  base_token BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  deleted BOOLEAN NOT NULL,
  free_count BIGINT NOT NULL,
  held_count BIGINT NOT NULL,
  kept_count BIGINT NOT NULL,
  reserved_count BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE {s}.snowlease_lease (
  namespace TEXT COLLATE "C" NOT NULL,
  machine_id BIGINT NOT NULL,
  token BIGINT NOT NULL,
  safe_guard_ms BIGINT NOT NULL,
  window_ms BIGINT NOT NULL,
  floor_ms BIGINT NOT NULL,
  fence_ms BIGINT NOT NULL,
  claimed_at_ms BIGINT NOT NULL,
  ended_token BIGINT NOT NULL,
  free_floor_ms BIGINT,
  renewed_at_ms BIGINT NOT NULL,
  renewed_before_ms BIGINT NOT NULL,
  watermark_ms BIGINT NOT NULL,
  window_end_ms BIGINT,
  used BOOLEAN NOT NULL,
  stable BOOLEAN NOT NULL,
  state SMALLINT NOT NULL,
  source SMALLINT NOT NULL,
  end_cause SMALLINT NOT NULL,
  incarnation_id BYTEA NOT NULL,
  instance_id TEXT COLLATE "C",
  PRIMARY KEY (namespace, machine_id)
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX snowlease_lease_instance ON {s}.snowlease_lease (namespace, instance_id)
  WHERE instance_id IS NOT NULL;
CREATE INDEX snowlease_lease_free ON {s}.snowlease_lease (namespace, free_floor_ms, machine_id)
  WHERE free_floor_ms IS NOT NULL;

CREATE TABLE {s}.snowlease_expiry_block (
  namespace TEXT COLLATE "C" NOT NULL,
  block BIGINT NOT NULL,
  bound_ms BIGINT NOT NULL,
  PRIMARY KEY (namespace, block)
);
CREATE INDEX snowlease_expiry_block_bound
  ON {s}.snowlease_expiry_block (namespace, bound_ms, block);

CREATE TABLE {s}.snowlease_grant (
  namespace TEXT COLLATE "C" NOT NULL,
  machine_id BIGINT NOT NULL,
  token BIGINT NOT NULL,
  granted_at_ms BIGINT NOT NULL,
  floor_ms BIGINT NOT NULL,
  ended_at_ms BIGINT,
  window_end_ms BIGINT,
  source SMALLINT NOT NULL,
  end_cause SMALLINT NOT NULL,
  ended_unclean BOOLEAN NOT NULL,
  incarnation_id BYTEA NOT NULL,
  instance_id TEXT COLLATE "C" NOT NULL,
  metadata BYTEA NOT NULL,
  PRIMARY KEY (namespace, machine_id, token)
);

CREATE TABLE {s}.snowlease_audit (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at_ms BIGINT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  namespace TEXT COLLATE "C" NOT NULL,
  machine_id BIGINT,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL
);
CREATE INDEX snowlease_audit_namespace ON {s}.snowlease_audit (namespace, id);
)sql";

}  // namespace snowlease::storage
