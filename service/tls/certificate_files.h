#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "service/config/config.h"
#include "service/tls/certificate_pair.h"
#include "storage/clock.h"

namespace snowlease::service {

// The texts of the three files; INVALID_ARGUMENT names the setting of one that cannot
// be read.
absl::StatusOr<CertificatePem> ReadCertificateFiles(const Config::Grpc::Tls& files);

// The certificate of the gRPC port as it is on disk. Files that do not go together,
// such as a pair that is just being replaced, leave the last good pair in use and a line
// in the log. Thread-safe.
class CertificateFiles {
 public:
  // INVALID_ARGUMENT (field grpc.tls.cert-file) unless the files are good now. The
  // clock must outlive it.
  static absl::StatusOr<std::unique_ptr<CertificateFiles>> Open(const Config::Grpc::Tls& files,
                                                                storage::Clock* clock);

  // Reads the files; answers the pair to use from now on. Blocks on the disk only.
  std::shared_ptr<const CertificatePair> Refresh();
  // The same for the one server that uses them; null: as the last time.
  std::shared_ptr<const CertificatePair> TakeForHandshake();

  bool asks_clients() const { return !files_.client_ca_file.empty(); }

 private:
  CertificateFiles(const Config::Grpc::Tls& files, storage::Clock* clock, CertificatePair pair);
  void Read();  // these with mutex_ held
  void Report(const std::string& problem);

  const Config::Grpc::Tls files_;
  storage::Clock* const clock_;
  std::mutex mutex_;
  std::shared_ptr<const CertificatePair> current_;
  std::shared_ptr<const CertificatePair> taken_;
  std::string problem_;  // told last; empty: the files are good
  bool expiry_told_ = false;
};

}  // namespace snowlease::service
