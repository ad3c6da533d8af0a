// Maps the ops of the case files to calls: names, order and layout of operands, results and options.
#pragma once

#include <string>
#include <vector>

#include "runtime/conform/oracle_cases.h"

namespace vantage::internal {

class OracleReader;
/// Maps a case to calls. The reader gives operands and options of the case, and records which were read, so that none
/// is silently ignored.
using OracleMap = std::vector<OracleCall> (*)(OracleReader&);
/// nullptr for an op that is not supported.
OracleMap oracle_map(const std::string& op);

}  // namespace vantage::internal
