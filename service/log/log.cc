#include "service/log/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <functional>

namespace snowlease::service {
namespace {

// Between message, keys and values of a payload; neither occurs in UTF-8 text that
// people write, and both are escaped where they do.
constexpr char kField = '\x1e';
constexpr char kValue = '\x1f';

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

std::string Utc(std::chrono::system_clock::time_point time) {
  const int64_t ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const size_t size = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + size, sizeof(text) - size, ".%03dZ", static_cast<int>(ms % 1000));
  return text;
}

void Append(spdlog::memory_buf_t& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

std::string_view View(spdlog::string_view_t text) { return {text.data(), text.size()}; }

class TextFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& out) override {
    std::string level(View(spdlog::level::to_string_view(line.level)));
    level.resize(std::max<size_t>(level.size(), 7), ' ');
    Append(out, Utc(line.time) + " " + level + " " + PayloadAsText(View(line.payload)) + "\n");
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>();
  }
};

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& line, spdlog::memory_buf_t& out) override {
    Append(out, "{\"time\":\"" + Utc(line.time) + "\",\"level\":\"" +
                    std::string(View(spdlog::level::to_string_view(line.level))) + "\"," +
                    PayloadAsJson(View(line.payload)) + "}\n");
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

std::string_view TakeUntil(std::string_view& text, char end) {
  const size_t size = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, size);
  text.remove_prefix(std::min(size + 1, text.size()));
  return taken;
}

void ForEachField(std::string_view payload,
                  const std::function<void(std::string_view, std::string_view)>& take) {
  while (!payload.empty()) {
    std::string_view field = TakeUntil(payload, kField);
    const std::string_view key = TakeUntil(field, kValue);
    take(key, field);
  }
}

bool IsPlain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c != '"' && c != '=' && c != '\\' && c != '\x7f';
  });
}

std::string Without(std::string_view text, const std::string& unwanted) {
  std::string out(text);
  for (char& c : out) {
    if (unwanted.find(c) != std::string::npos) c = '?';
  }
  return out;
}

}  // namespace

void StartLogging(LogLevel level, LogFormat format) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("snowlease", std::move(sink));
  if (format == LogFormat::kJson) {
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger->set_formatter(std::make_unique<TextFormatter>());
  }
  logger->set_level(LevelOf(level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void Log(LogLevel level, std::string_view message, LogFields fields) {
  spdlog::logger* logger = spdlog::default_logger_raw();
  if (!logger->should_log(LevelOf(level))) return;
  const std::string payload = LogPayload(message, fields);
  logger->log(LevelOf(level), spdlog::string_view_t(payload.data(), payload.size()));
}

std::string LogPayload(std::string_view message, LogFields fields) {
  std::string payload = Without(message, {kField, kValue});
  for (const auto& [key, value] : fields) {
    payload += kField + std::string(key) + kValue + Without(value, {kField, kValue});
  }
  return payload;
}

std::string PayloadAsText(std::string_view payload) {
  const std::string_view message = TakeUntil(payload, kField);
  // Quotes only where a control character could forge a line.
  const bool tame = std::none_of(message.begin(), message.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < ' '; });
  std::string text = tame ? std::string(message) : JsonQuoted(message);
  ForEachField(payload, [&](std::string_view key, std::string_view value) {
    text +=
        " " + std::string(key) + "=" + (IsPlain(value) ? std::string(value) : JsonQuoted(value));
  });
  return text;
}

std::string PayloadAsJson(std::string_view payload) {
  std::string json = "\"message\":" + JsonQuoted(TakeUntil(payload, kField));
  ForEachField(payload, [&](std::string_view key, std::string_view value) {
    json += "," + JsonQuoted(key) + ":" + JsonQuoted(value);
  });
  return json;
}

}  // namespace snowlease::service
