#include "service/tls/certificate_files.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "service/log/log.h"
#include "storage/errors.h"

namespace snowlease::service {
namespace {

absl::StatusOr<std::string> ReadFile(const char* setting, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  // Nothing read from an empty file counts as a failure, too.
  if (file.is_open() && !file.bad() && !text.str().empty()) return text.str();
  return storage::InvalidArgumentError(
      {{setting, path + " cannot be read or is empty; check the path and its rights"}});
}

}  // namespace

absl::StatusOr<CertificatePem> ReadCertificateFiles(const Config::Grpc::Tls& files) {
  auto chain = ReadFile("grpc.tls.cert-file", files.cert_file);
  if (!chain.ok()) return chain.status();
  auto key = ReadFile("grpc.tls.key-file", files.key_file);
  if (!key.ok()) return key.status();
  CertificatePem pem{*std::move(chain), *std::move(key), ""};
  if (files.client_ca_file.empty()) return pem;
  auto client_ca = ReadFile("grpc.tls.client-ca-file", files.client_ca_file);
  if (!client_ca.ok()) return client_ca.status();
  pem.client_ca = *std::move(client_ca);
  return pem;
}

absl::StatusOr<std::unique_ptr<CertificateFiles>> CertificateFiles::Open(
    const Config::Grpc::Tls& files, storage::Clock* clock) {
  auto pem = ReadCertificateFiles(files);
  if (!pem.ok()) return pem.status();
  auto pair = CheckPair(*std::move(pem), clock->Now());
  if (!pair.ok()) {
    return storage::InvalidArgumentError(
        {{"grpc.tls.cert-file", files.cert_file + " with " + files.key_file + ": " +
                                    std::string(pair.status().message()) +
                                    "; put a valid pair there"}});
  }
  return std::unique_ptr<CertificateFiles>(new CertificateFiles(files, clock, *std::move(pair)));
}

CertificateFiles::CertificateFiles(const Config::Grpc::Tls& files, storage::Clock* clock,
                                   CertificatePair pair)
    : files_(files), clock_(clock) {
  current_ = std::make_shared<const CertificatePair>(std::move(pair));
}

std::shared_ptr<const CertificatePair> CertificateFiles::Refresh() {
  const std::lock_guard lock(mutex_);
  Read();
  return current_;
}

std::shared_ptr<const CertificatePair> CertificateFiles::TakeForHandshake() {
  const std::lock_guard lock(mutex_);
  Read();
  if (taken_ == current_) return nullptr;
  taken_ = current_;
  return current_;
}

void CertificateFiles::Read() {
  auto pem = ReadCertificateFiles(files_);
  if (!pem.ok()) {
    Report(std::string(pem.status().message()));
  } else if (*pem == current_->pem) {
    problem_.clear();
  } else if (auto pair = CheckPair(*std::move(pem), clock_->Now()); !pair.ok()) {
    Report(std::string(pair.status().message()));
  } else {
    problem_.clear();
    expiry_told_ = false;
    current_ = std::make_shared<const CertificatePair>(*std::move(pair));
    Log(LogLevel::kInfo, "new connections are served with another certificate",
        {{"subject", current_->subject}, {"expires", UtcText(current_->expires)}});
  }
  if (current_->expires <= clock_->Now() && !std::exchange(expiry_told_, true)) {
    Log(LogLevel::kError,
        "the certificate has expired and no client can connect: put a valid one into "
        "grpc.tls.cert-file",
        {{"subject", current_->subject}, {"expired", UtcText(current_->expires)}});
  }
}

void CertificateFiles::Report(const std::string& problem) {
  if (problem == problem_) return;
  problem_ = problem;
  Log(LogLevel::kWarn,
      "the files of the certificate are not used, the last good ones are: " + problem,
      {{"cert_file", files_.cert_file}, {"expires", UtcText(current_->expires)}});
}

}  // namespace snowlease::service
