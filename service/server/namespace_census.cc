#include "service/server/namespace_census.h"

namespace snowlease::service {
namespace {

constexpr storage::Millis kInterval{10'000};
// Nobody scrapes any more when the last scrape is older than this.
constexpr storage::Millis kScrapeMemory{300'000};
constexpr int kPage = 1000;

}  // namespace

bool NamespaceCensus::IsDue(storage::SteadyTime now) const {
  if (!last_) return true;
  const std::optional<storage::SteadyTime> scraped = metrics_->last_scrape();
  return now - *last_ >= kInterval && scraped && now - *scraped < kScrapeMemory;
}

bool NamespaceCensus::Refresh(storage::SteadyTime now) {
  if (!IsDue(now)) return false;
  last_ = now;
  NamespaceTotals totals(metrics_->listed_namespaces());
  std::string after;
  for (;;) {
    const auto page = store_->ListNamespaces(after, kPage);
    if (!page.ok()) return false;  // the old numbers stay
    for (const storage::NamespaceRow& row : *page) totals.Add(row);
    if (page->size() < kPage) break;
    after = page->back().name;
  }
  metrics_->namespaces().Set(totals);
  return true;
}

}  // namespace snowlease::service
