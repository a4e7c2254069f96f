#pragma once

#include <span>
#include <string_view>

namespace mnistd::web {

// One file of the dashboard. All views point into static storage.
struct Asset {
  std::string_view path;          // as requested: "/index.html", "/assets/index-BxY1.js"
  std::string_view content_type;  // "text/html; charset=utf-8"
  std::string_view bytes;
  std::string_view etag;  // strong and quoted: the first 16 hex digits of the SHA-256 of bytes
  bool immutable;         // the name carries a hash of the content: may be cached for good
};

// Every file of the dashboard, ordered by path; empty when built with -DMNISTD_WEB=OFF. Any thread.
std::span<const Asset> assets();

}  // namespace mnistd::web
