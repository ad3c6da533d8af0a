// Formats of strings in JSON schemas, as regular expressions.

#include <algorithm>

#include "runtime/base/format.h"
#include "runtime/text/grammar/json_text.h"

namespace vantage::text::grammar {

namespace {

// RFC 3339. Each February has 29 days, and no minute a leap second.
std::string date_regex() {
    return "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9])"
           ")";
}
std::string time_regex() {
    const std::string clock = "([01][0-9]|2[0-3]):[0-5][0-9]";
    return clock + ":[0-5][0-9](\\.[0-9]{1,9})?(Z|[+\\-]" + clock + ")";
}
std::string date_time_regex() { return date_regex() + "T" + time_regex(); }

std::string uuid_regex() { return "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"; }

std::string ipv4_regex() {
    const std::string byte = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    return byte + "(\\." + byte + "){3}";
}

// Eight groups, or fewer with :: for one group of zeros or more.
std::string ipv6_regex() {
    const std::string h = "[0-9a-fA-F]{1,4}";
    std::string all = "(" + h + ":){7}" + h + "|(" + h + ":){1,7}:|:(:" + h + "){1,7}|::";
    for (int before = 1; before <= 6; ++before)
        all += "|(" + h + ":){" + std::to_string(before) + "}(:" + h + "){1," + std::to_string(7 - before) + "}";
    return all;
}

// The length of the whole name is not limited.
std::string hostname_regex() {
    const std::string label = "[A-Za-z0-9]([A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?";
    return label + "(\\." + label + ")*";
}
std::string email_regex() {
    const std::string atom = "[A-Za-z0-9!#$%&'*+/=?\\^_`{|}~\\-]+";
    return atom + "(\\." + atom + ")*@" + hostname_regex();
}

// RFC 3986, without users and IPv6 addresses in place of a host.
std::string uri_regex() {
    const std::string coded = "%[0-9A-Fa-f]{2}", plain = "A-Za-z0-9._~!$&'()*+,;=\\-";
    const std::string host = "([" + plain + "]|" + coded + ")*(:[0-9]*)?", one = "([" + plain + ":@]|" + coded + ")";
    const std::string path = "(/" + one + "*)*", behind = "([" + plain + ":@/?]|" + coded + ")*";
    return "[A-Za-z][A-Za-z0-9+.\\-]*:(//" + host + path + "|/?(" + one + "+" + path + ")?)(\\?" + behind + ")?(#" +
           behind + ")?";
}

struct StringFormat {
    std::string_view name;
    std::string (*regex)();
};
constexpr StringFormat string_formats[] = {
    {"date", date_regex},   {"time", time_regex},         {"date-time", date_time_regex},
    {"uuid", uuid_regex},   {"ipv4", ipv4_regex},         {"ipv6", ipv6_regex},
    {"email", email_regex}, {"hostname", hostname_regex}, {"uri", uri_regex}};

}  // namespace

std::optional<std::string> json_format_regex(std::string_view name) {
    const auto* known = std::ranges::find(string_formats, name, &StringFormat::name);
    if (known == std::ranges::end(string_formats)) return std::nullopt;
    return known->regex();
}

std::string json_format_names() {
    return internal::join(string_formats, ", ", [](const StringFormat& one) { return one.name; });
}

}  // namespace vantage::text::grammar
