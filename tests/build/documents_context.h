// Names that the C++ fragments of README.md and docs/*.md use without declaring them: see documents.sh.
#pragma once

#include <cstdio>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "vantage/vantage.h"
#include "vantage/view.h"

using namespace vantage;

extern Device device;
extern Model model;
extern Session session;
extern std::int64_t tokens, width;
