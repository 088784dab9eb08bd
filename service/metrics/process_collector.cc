#include "service/metrics/process_collector.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace snowlease::service {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

struct ProcessStat {
  double cpu_seconds = 0;
  double start_ticks = 0;
  double virtual_bytes = 0;
  double resident_bytes = 0;
  double threads = 0;
};

std::optional<ProcessStat> ReadStat() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // The second field, the program's name, may hold anything; the third one follows
  // the last bracket.
  const size_t end = line.rfind(')');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream rest(line.substr(end + 1));
  std::vector<std::string> fields{"", "", ""};
  for (std::string field; rest >> field;) fields.push_back(field);
  constexpr size_t kUtime = 14, kStime = 15, kThreads = 20, kStart = 22, kVsize = 23, kRss = 24;
  if (fields.size() <= kRss) return std::nullopt;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  const auto number = [&](size_t field) { return std::strtod(fields[field].c_str(), nullptr); };
  return ProcessStat{(number(kUtime) + number(kStime)) / ticks, number(kStart) / ticks,
                     number(kVsize), number(kRss) * page, number(kThreads)};
}

std::optional<double> ReadBootTime() {
  std::ifstream file("/proc/stat");
  for (std::string key; file >> key;) {
    double value = 0;
    if (key == "btime" && file >> value) return value;
    std::getline(file, key);
  }
  return std::nullopt;
}

std::optional<double> CountOpenFiles() {
  std::error_code error;
  double count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    ++count;
  }
  if (error) return std::nullopt;
  return count - 1;  // the directory itself
}

void Add(std::vector<MetricFamily>& families, const char* name, const char* help, MetricType type,
         double value) {
  prometheus::ClientMetric metric;
  if (type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  families.push_back({name, help, type, {metric}});
}

}  // namespace

std::vector<MetricFamily> ProcessCollector::Collect() const {
  std::vector<MetricFamily> families;
  if (const std::optional<ProcessStat> stat = ReadStat()) {
    Add(families, "process_cpu_seconds_total", "CPU time used, user and system.",
        MetricType::Counter, stat->cpu_seconds);
    Add(families, "process_resident_memory_bytes", "Memory in use.", MetricType::Gauge,
        stat->resident_bytes);
    Add(families, "process_virtual_memory_bytes", "Address space in use.", MetricType::Gauge,
        stat->virtual_bytes);
    Add(families, "process_threads", "Threads running.", MetricType::Gauge, stat->threads);
    if (const std::optional<double> boot = ReadBootTime()) {
      Add(families, "process_start_time_seconds", "Start of the process, Unix time.",
          MetricType::Gauge, *boot + stat->start_ticks);
    }
  }
  if (const std::optional<double> open = CountOpenFiles()) {
    Add(families, "process_open_fds", "Files and sockets open.", MetricType::Gauge, *open);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    Add(families, "process_max_fds", "Most files and sockets that may be open.", MetricType::Gauge,
        static_cast<double>(limit.rlim_cur));
  }
  return families;
}

}  // namespace snowlease::service
