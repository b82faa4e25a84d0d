// The values of options that take one of a list of names.
#pragma once

#include <optional>

#include "cli/options.h"
#include "cli/values.h"

namespace cleave::cli {

inline constexpr Choice<HeaderMode> kHeaderModes[] = {
    {"repeat", HeaderMode::kRepeat}, {"first", HeaderMode::kFirst}, {"drop", HeaderMode::kDrop}};
inline constexpr Choice<Balance> kBalances[] = {{"bytes", Balance::kBytes}, {"records", Balance::kRecords}};
inline constexpr Choice<Format> kFormats[] = {{"tsv", Format::kTsv},   {"csv", Format::kCsv}, {"jsonl", Format::kJsonl},
                                              {"json", Format::kJson}, {"u64", Format::kU64}, {"http", Format::kHttp}};
inline constexpr Choice<CloneMode> kCloneModes[] = {
    {"never", CloneMode::kNever}, {"auto", CloneMode::kAuto}, {"always", CloneMode::kAlways}};
inline constexpr Choice<IndexUse> kIndexUses[] = {
    {"auto", IndexUse::kAuto}, {"require", IndexUse::kRequire}, {"never", IndexUse::kNever}};
inline constexpr Choice<Quoting> kQuotings[] = {{"field-start", Quoting::kFieldStart},
                                                {"anywhere", Quoting::kAnywhere}};
inline constexpr Choice<EscapeScope> kEscapeScopes[] = {{"everywhere", EscapeScope::kEverywhere},
                                                        {"quoted", EscapeScope::kQuoted}};
// std::nullopt: sniff the terminator.
inline constexpr Choice<std::optional<Terminator>> kTerminators[] = {
    {"lf", Terminator::kLf}, {"cr", Terminator::kCr}, {"any", Terminator::kAny}, {"auto", std::nullopt}};
inline constexpr Choice<Compression> kCompressions[] = {{"gzip", Compression::kGzip}, {"zstd", Compression::kZstd}};
inline constexpr Choice<When> kWhens[] = {{"auto", When::kAuto}, {"always", When::kAlways}, {"never", When::kNever}};
inline constexpr Choice<DefaultAction> kDefaultActions[] = {{"keep", DefaultAction::kKeep},
                                                            {"null", DefaultAction::kNull},
                                                            {"drop", DefaultAction::kDrop},
                                                            {"fail", DefaultAction::kFail}};
inline constexpr Choice<ForbiddenKind> kForbidden[] = {
    {"email", ForbiddenKind::kEmail},  {"card", ForbiddenKind::kCard}, {"iban", ForbiddenKind::kIban},
    {"phone", ForbiddenKind::kPhone},  {"ip", ForbiddenKind::kIp},     {"date", ForbiddenKind::kDate},
    {"secret", ForbiddenKind::kSecret}};
inline constexpr Choice<KeyCommand> kKeyCommands[] = {{"new", KeyCommand::kNew},
                                                      {"rotate", KeyCommand::kRotate},
                                                      {"list", KeyCommand::kList},
                                                      {"check", KeyCommand::kCheck}};
inline constexpr Choice<RejectKind> kRejectKinds[] = {
    {"fields", RejectKind::kFields},     {"quotes", RejectKind::kQuotes}, {"size", RejectKind::kSize},
    {"encoding", RejectKind::kEncoding}, {"nul", RejectKind::kNul},       {"json", RejectKind::kJson}};
inline constexpr Choice<bool> kSpools[] = {{"plain", true}};
inline constexpr Choice<Shell> kShells[] = {{"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}};

}  // namespace cleave::cli
