// SPDX-License-Identifier: Apache-2.0
#include "support/comma_locale.h"

#include <clocale>
#include <cstdlib>

namespace narrowgauge::testing_support {

namespace {

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

CommasInStreams::CommasInStreams()
    : former_(std::locale::global(std::locale(std::locale::classic(), new Commas))) {}

CommasInStreams::~CommasInStreams() { std::locale::global(former_); }

LocaleOfLanguage::LocaleOfLanguage(const std::string& language)
    : former_(std::setlocale(LC_ALL, nullptr)) {
  const std::string name = language + ".UTF-8";
  const std::string made = "localedef -i " + language + " -f UTF-8 '" + (folder_ / name) + "'";
  if (std::system((made + " >/dev/null 2>&1").c_str()) != 0) {
    why_not_ = "localedef made no " + name;
    return;
  }
  setenv("LOCPATH", folder_.path().c_str(), 1);
  if (!std::setlocale(LC_ALL, name.c_str())) why_not_ = "C has no locale " + name;
}

LocaleOfLanguage::~LocaleOfLanguage() {
  std::setlocale(LC_ALL, former_.c_str());
  unsetenv("LOCPATH");
}

}  // namespace narrowgauge::testing_support
