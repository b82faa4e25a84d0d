#include "stage_reference.h"

#include <nettle/hmac.h>

#include <algorithm>
#include <array>
#include <regex>

#include "field_reference.h"
#include "operations.h"

namespace cleave::test {
namespace {

bool has_role(char byte, std::optional<std::uint8_t> role) { return role && static_cast<std::uint8_t>(byte) == *role; }

bool escapes_everywhere(const Dialect& dialect) {
    return dialect.escape && dialect.escape_scope == EscapeScope::kEverywhere;
}

bool is_quoted(std::string_view field, const Dialect& dialect) {
    return !field.empty() && has_role(field[0], dialect.quote);
}

// The first character of a text that is not empty.
std::string first_character(std::string_view text) {
    // mask_by_code_points() tells how many characters a string has.
    for (std::size_t size = std::min<std::size_t>(4, text.size()); size > 1; --size) {
        if (mask_by_code_points(text.substr(0, size), 0, 0, '*').size() == 1) return std::string(text.substr(0, size));
    }
    return std::string(text.substr(0, 1));
}

std::string initials_of(std::string_view value) {
    std::string initials;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const bool begins_word = value[i] != ' ' && (i == 0 || value[i - 1] == ' ');
        if (!begins_word) continue;
        const std::size_t end = std::min(value.find(' ', i), value.size());
        initials += first_character(value.substr(i, end - i)) + '.';
    }
    return initials;
}

std::string short_name_of(std::string_view value) {
    const std::size_t space = value.find(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == value.size()) return "X X";
    return first_character(value.substr(space + 1)) + ' ' + std::string(value.substr(0, space));
}

std::string hmac_of(const std::string& key, const std::string& text) {
    hmac_sha256_ctx state;
    hmac_sha256_set_key(&state, key.size(), reinterpret_cast<const std::uint8_t*>(key.data()));
    hmac_sha256_update(&state, text.size(), reinterpret_cast<const std::uint8_t*>(text.data()));
    std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
    hmac_sha256_digest(&state, digest.size(), digest.data());
    return {digest.begin(), digest.end()};
}

// Takes `bits` bits per digit, from the front, and pads the last digit with zeros.
std::string digits_of(std::string_view bytes, unsigned bits, std::string_view alphabet) {
    std::string digits;
    for (std::size_t at = 0; at < 8 * bytes.size(); at += bits) {
        unsigned digit = 0;
        for (std::size_t i = at; i < at + bits; ++i) {
            const unsigned byte = i < 8 * bytes.size() ? static_cast<std::uint8_t>(bytes[i / 8]) : 0U;
            digit = 2 * digit + (byte >> (7 - i % 8) & 1U);
        }
        digits += alphabet[digit];
    }
    return digits;
}

std::string token_of(std::string value, const ReferenceOperation& operation, const std::string& key) {
    if (operation.is_trimmed) {
        constexpr std::string_view kBlanks = " \t\n\v\f\r";
        const std::size_t first = value.find_first_not_of(kBlanks);
        value = first == std::string::npos ? "" : value.substr(first, value.find_last_not_of(kBlanks) + 1 - first);
    }
    if (operation.is_lowered) {
        for (char& byte : value) {
            if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte + 32);
        }
    }
    const std::string used = operation.text.empty() ? key
                                                    : hmac_of(key,
                                                              "\xFF"
                                                              "cleave context 1" +
                                                                  operation.text);
    const std::string mac = hmac_of(used, value);
    if (operation.form == "hex") return digits_of(mac.substr(0, operation.size), 4, "0123456789abcdef");
    if (operation.form == "base64url") {
        return digits_of(mac.substr(0, operation.size), 6,
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    }
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < 8; ++i) number = 256 * number + static_cast<std::uint8_t>(mac[i]);
    return std::to_string(number % (std::uint64_t{1} << 63));
}

std::string email_of(const std::string& value, const ReferenceOperation& operation, const std::string& key) {
    std::string masked = email_by_search(value);
    // A value that is masked completely keeps nothing. A domain has a letter or another byte that stays.
    const std::size_t at = value.rfind('@');
    const bool keeps_domain = at != std::string::npos && masked.ends_with(value.substr(at));
    if (!operation.is_hashed || !keeps_domain) return masked;
    return token_of(value.substr(0, at), operation, key) + value.substr(at);
}

// Returns nothing for null.
std::optional<std::string> changed(const std::string& value, const ReferenceOperation& operation,
                                   const std::string& key) {
    using Kind = ReferenceOperation::Kind;
    switch (operation.kind) {
        case Kind::kKeep: return value;
        case Kind::kNull: return std::nullopt;
        case Kind::kFixed: return operation.text;
        case Kind::kHmac: return token_of(value, operation, key);
        case Kind::kMask: return mask_by_code_points(value, operation.first, operation.last, operation.sign);
        case Kind::kInitials: return initials_of(value);
        case Kind::kShortName: return short_name_of(value);
        case Kind::kEmail: return email_of(value, operation, key);
        case Kind::kDate: return date_by_pattern(value, operation.size);
        case Kind::kBucket: return bucket_by_hand(value, operation.text);
    }
    return std::nullopt;
}

bool holds(const ReferenceCondition& condition, const std::string& value) {
    using Kind = ReferenceCondition::Kind;
    const bool is_among = std::ranges::find(condition.values, value) != condition.values.end();
    switch (condition.kind) {
        case Kind::kEqual:
        case Kind::kIn: return is_among;
        case Kind::kNotEqual: return !is_among;
        case Kind::kEmpty: return value.empty();
        case Kind::kNotEmpty: return !value.empty();
    }
    return false;
}

bool has_mail(const std::string& value) {
    static const std::regex kPattern(
        "[A-Za-z0-9._%+\"\x80-\xFF-]@(([A-Za-z0-9\x80-\xFF-]+\\.)+[A-Za-z\x80-\xFF]{2}"
        "|\\[[A-Za-z0-9.:]*[0-9][A-Za-z0-9.:]*\\])");
    return value.find('@') != std::string::npos && std::regex_search(value, kPattern);
}

// Whether a token of the value could be part of a derived key.
bool is_reserved(std::string value) {
    std::ranges::transform(value, value.begin(),
                           [](char byte) { return byte >= 'A' && byte <= 'Z' ? byte + 32 : byte; });
    return value.find(
               "\xFF"
               "cleave ") != std::string::npos;
}

class Applier {
public:
    Applier(std::string_view text, const ReferenceStage& stage) : text_(text), stage_(stage) {
        reading_.counts.resize(stage.rules.size());
    }

    StageReading apply() {
        const FieldReading fields = read_fields(text_, stage_.dialect);
        reading_.input_fault = fields.fault;
        for (const ReferenceRecord& record : fields.records) reading_.begins.push_back(record.begin);
        find_faulty_records(fields.records);
        if (reading_.input_fault) return reading_;
        for (std::size_t r = 0; r < fields.records.size(); ++r) {
            const std::size_t next = r + 1 < fields.records.size() ? fields.records[r + 1].begin : text_.size();
            reading_.unchanged.push_back(write(fields.records[r], next, false));
            if (reading_.output_fault) reading_.unchanged_has_fault = true;
            reading_.output_fault.reset();
            if (is_done_) continue;
            std::string record = write(fields.records[r], next, true);
            is_done_ = reading_.output_fault.has_value();
            fault_ = reading_.output_fault;
            if (!is_done_) reading_.records.push_back(std::move(record));
        }
        reading_.output_fault = fault_;
        return reading_;
    }

private:
    bool is_blank(const ReferenceRecord& record) const {
        return record.ends.size() == 1 && record.content_end == record.begin;
    }
    void find_faulty_records(const std::vector<ReferenceRecord>& records) {
        for (std::size_t r = 0; r < records.size(); ++r) {
            // A malformed byte comes after the records before its own.
            const std::size_t end = r + 1 < records.size() ? records[r + 1].begin : text_.size() + 1;
            if (reading_.input_fault && *reading_.input_fault < end) return;
            if (records[r].ends.size() == stage_.columns || is_blank(records[r])) continue;
            reading_.input_fault = records[r].begin;
            return;
        }
        for (std::size_t r = 0; r < records.size() && !reading_.input_fault; ++r) {
            const std::size_t next = r + 1 < records.size() ? records[r + 1].begin : text_.size();
            if (next - records[r].begin > stage_.max_record) reading_.input_fault = records[r].begin;
        }
    }
    std::uint32_t begin_of(const ReferenceRecord& record, std::size_t column) const {
        return column == 0 ? record.begin : record.ends[column - 1] + 1;
    }
    std::string_view field(const ReferenceRecord& record, std::size_t column) const {
        return field_of(text_, record, column);
    }
    std::string value(const ReferenceRecord& record, std::size_t column) const {
        return value_of(field(record, column), stage_.dialect);
    }

    std::string write(const ReferenceRecord& record, std::size_t next, bool with_rules) {
        if (is_blank(record) && stage_.columns != 1) {
            if (with_rules) ++reading_.empty_records;
            return std::string(text_.substr(record.begin, next - record.begin));
        }
        if (stage_.forbids_mail) watch(record, with_rules);
        std::string content;
        for (std::size_t i = 0; i < stage_.selected.size() && !reading_.output_fault; ++i) {
            if (i > 0) content += static_cast<char>(stage_.dialect.delimiter);
            const std::size_t column = stage_.selected[i];
            content += with_rules ? change(record, column, true).first : std::string(field(record, column));
        }
        if (content.empty() && !is_blank(record) && !reading_.output_fault) {
            if (!stage_.dialect.quote) reading_.output_fault = record.begin;
            content.assign(2, static_cast<char>(stage_.dialect.quote.value_or(0)));
        }
        return content + std::string(text_.substr(record.content_end, next - record.content_end));
    }

    // Looks for email addresses in the columns that no operation changes.
    void watch(const ReferenceRecord& record, bool with_rules) {
        for (const std::size_t column : stage_.selected) {
            if (reading_.output_fault) return;
            const bool was_changed = with_rules && change(record, column, false).second;
            if (!was_changed && has_mail(value(record, column))) reading_.output_fault = begin_of(record, column);
        }
    }

    // Returns the new field, and whether an operation other than keep produced it. With `counts`, updates the counts
    // and may set a fault.
    std::pair<std::string, bool> change(const ReferenceRecord& record, std::size_t column, bool counts) {
        const std::string_view raw = field(record, column);
        const std::string old = value(record, column);
        bool is_named = false;
        for (std::size_t i = 0; i < stage_.rules.size(); ++i) {
            const ReferenceRule& rule = stage_.rules[i];
            if (std::ranges::find(rule.columns, column) == rule.columns.end()) continue;
            is_named = true;
            ReferenceCounts scrap;
            ReferenceCounts& counted = counts ? reading_.counts[i] : scrap;
            ++counted.seen;
            const bool all = std::ranges::all_of(rule.conditions, [&](const ReferenceCondition& condition) {
                return holds(condition, value(record, condition.column));
            });
            if (!all) {
                ++counted.condition_false;
                continue;
            }
            if (old.empty() && !rule.changes_empty) {
                ++counted.empty;
                return {std::string(raw), false};
            }
            if (rule.operation.kind == ReferenceOperation::Kind::kKeep) {
                ++counted.kept;
                return {std::string(raw), false};
            }
            ++counted.changed;
            if (!counts) return {"", true};
            const bool is_token = rule.operation.kind == ReferenceOperation::Kind::kHmac || rule.operation.is_hashed;
            if (is_token && is_reserved(old)) reading_.output_fault = begin_of(record, column);
            const std::optional<std::string> made = changed(old, rule.operation, stage_.key);
            if (!made) return {stage_.null_token, true};
            const std::optional<std::string> written = field_of(*made, is_quoted(raw, stage_.dialect), stage_.dialect);
            if (!written) reading_.output_fault = begin_of(record, column);
            return {written.value_or(""), true};
        }
        if (!is_named && stage_.default_is_null && !old.empty()) return {stage_.null_token, true};
        return {std::string(raw), false};
    }

    std::string_view text_;
    const ReferenceStage& stage_;
    StageReading reading_;
    bool is_done_ = false;
    std::optional<std::uint32_t> fault_;
};

}  // namespace

bool is_plain(std::string_view value, const Dialect& dialect) {
    return std::ranges::none_of(value, [&](char byte) {
        return byte == '\r' || byte == '\n' || has_role(byte, dialect.delimiter) || has_role(byte, dialect.quote) ||
               (escapes_everywhere(dialect) && has_role(byte, dialect.escape));
    });
}

std::optional<std::string> field_of(std::string_view value, bool quoted, const Dialect& dialect) {
    if (!quoted && is_plain(value, dialect)) return std::string(value);
    std::string field;
    if (!dialect.quote) {
        if (!escapes_everywhere(dialect)) return std::nullopt;
        for (const char byte : value) {
            const bool is_special = byte == '\r' || byte == '\n' || has_role(byte, dialect.delimiter);
            if (is_special || has_role(byte, dialect.escape)) field += static_cast<char>(*dialect.escape);
            field += byte;
        }
        return field;
    }
    const auto quote = static_cast<char>(*dialect.quote);
    field += quote;
    for (const char byte : value) {
        if (byte == quote) field += static_cast<char>(dialect.escape.value_or(*dialect.quote));
        if (has_role(byte, dialect.escape)) field += byte;
        field += byte;
    }
    return field + quote;
}

bool can_carry(std::string_view value, const Dialect& dialect) { return field_of(value, false, dialect).has_value(); }

StageReading apply_stage(std::string_view text, const ReferenceStage& stage) { return Applier(text, stage).apply(); }

}  // namespace cleave::test
