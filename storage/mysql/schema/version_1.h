#pragma once

// Times are milliseconds since the Unix epoch. Keys are VARBINARY: they compare byte by
// byte, trailing spaces included, in every version; MySQL and MariaDB share no collation
// for utf8mb4 that does. Renewals write used, window_end_ms, watermark_ms and
// renewed_at_ms of snowlease_lease, so no index may name one of these.
//
// Each statement may run again: CREATE TABLE is not part of a transaction, and a
// migration may have been cut off after any of them.

namespace snowlease::storage::mysql {

inline constexpr const char* kSchemaVersion1[] = {
    R"sql(CREATE TABLE IF NOT EXISTS snowlease_namespace (
  namespace VARBINARY(255) NOT NULL PRIMARY KEY,
  machine_bits TINYINT UNSIGNED NOT NULL,
  next_machine_id INT UNSIGNED NOT NULL,
  pinned_safe_guard_ms BIGINT,
  allow_trust_clock TINYINT NOT NULL,
  lease_cap BIGINT,
  base_floor_ms BIGINT NOT NULL,
  base_token BIGINT NOT NULL,
  created_at_ms BIGINT NOT NULL,
  deleted TINYINT NOT NULL,
  free_count BIGINT NOT NULL,
  held_count BIGINT NOT NULL,
  kept_count BIGINT NOT NULL,
  reserved_count BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC)sql",

    R"sql(CREATE TABLE IF NOT EXISTS snowlease_lease (
  namespace VARBINARY(255) NOT NULL,
  machine_id INT UNSIGNED NOT NULL,
  state TINYINT NOT NULL,
  instance_id VARBINARY(255),
  incarnation_id BINARY(16) NOT NULL,
  token BIGINT NOT NULL,
  source TINYINT NOT NULL,
  stable TINYINT NOT NULL,
  safe_guard_ms BIGINT NOT NULL,
  window_ms BIGINT NOT NULL,
  floor_ms BIGINT NOT NULL,
  used TINYINT NOT NULL,
  window_end_ms BIGINT,
  watermark_ms BIGINT NOT NULL,
  fence_ms BIGINT NOT NULL,
  claimed_at_ms BIGINT NOT NULL,
  renewed_at_ms BIGINT NOT NULL,
  free_floor_ms BIGINT,
  ended_token BIGINT NOT NULL,
  end_cause TINYINT NOT NULL,
  PRIMARY KEY (namespace, machine_id),
  UNIQUE KEY snowlease_lease_instance (namespace, instance_id),
  KEY snowlease_lease_free (namespace, free_floor_ms, machine_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC)sql",

    R"sql(CREATE TABLE IF NOT EXISTS snowlease_expiry_block (
  namespace VARBINARY(255) NOT NULL,
  block INT UNSIGNED NOT NULL,
  bound_ms BIGINT NOT NULL,
  PRIMARY KEY (namespace, block),
  KEY snowlease_expiry_block_bound (namespace, bound_ms, block)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC)sql",

    R"sql(CREATE TABLE IF NOT EXISTS snowlease_grant (
  namespace VARBINARY(255) NOT NULL,
  machine_id INT UNSIGNED NOT NULL,
  token BIGINT NOT NULL,
  instance_id VARBINARY(255) NOT NULL,
  incarnation_id BINARY(16) NOT NULL,
  source TINYINT NOT NULL,
  granted_at_ms BIGINT NOT NULL,
  floor_ms BIGINT NOT NULL,
  metadata BLOB NOT NULL,
  ended_at_ms BIGINT,
  window_end_ms BIGINT,
  end_cause TINYINT NOT NULL,
  ended_unclean TINYINT NOT NULL,
  PRIMARY KEY (namespace, machine_id, token)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC)sql",

    R"sql(CREATE TABLE IF NOT EXISTS snowlease_audit (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  at_ms BIGINT NOT NULL,
  actor BLOB NOT NULL,
  action BLOB NOT NULL,
  namespace VARBINARY(255) NOT NULL,
  machine_id INT UNSIGNED,
  reason BLOB NOT NULL,
  detail BLOB NOT NULL,
  KEY snowlease_audit_namespace (namespace, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC)sql",
};

}  // namespace snowlease::storage::mysql
