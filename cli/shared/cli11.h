// CLI11's classes by name, for headers: its own header is slow to compile.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
