#include "samples.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cleave {
namespace {

constexpr Dialect escaping() {
    Dialect dialect;
    dialect.escape = '\\';
    return dialect;
}

constexpr Dialect any_terminator() {
    Dialect dialect;
    dialect.terminator = Terminator::kAny;
    return dialect;
}

constexpr Sample kSamples[] = {
    {"plain",
     "id,name,place,price,note\n",
     {"000000,*,* *,0.0000,*\n", "00000,*,*,0.00,* * *\n", "000000,*,* *,00.000,*\n", "00000,* *,*,0.0,\n"}},
    {"quoted",
     "id,name,remark,price,note\n",
     {"000000,\"*, *\",\"he said \"\"no\"\"\",0.0000,\"*\"\n", "00000,\"*, *\",*,00.00,\"* *\"\n",
      "000000,*,\"the \"\"*\"\" of *, *\",0.000,\n", "00000,\"*, *\",\"* *\n* *\n*\",0.00,\"*\"\n"}},
    {"embedded",
     "id,address,count\n",
     {"000000,\"* *\n* *\n*\",00\n", "00000,\"*\n*\",0\n", "000000,\"* *\n* *\n* *\n*\",000\n",
      "00000,\"*\n\n*\",00\n"}},
    {"dense",
     "a,b,c,d\n",
     {"\"\",\"\",\"\"\"\",\"0\"\n", "\"\",\"\"\"\"\"\",\"\",\"\"\n", "\"0\",\"\",\"\"\"0\"\"\",\"\"\n",
      "\"\",\"\",\"\",\"\"\"\"\n"}},
    {"stray",
     "id,item,price,note\n",
     {"000000,monitor 00\" *,000.00,*\n", "00000,0.00\" pipe,0.00,*\n", "000000,* 00\",00.0,* *\n",
      "00000,* *,0.00,5' 0\" *\n"}},
    {"escapes",
     "id,name,remark,price\n",
     {"000000,\"*, *\",\"he said \\\"no\\\"\",0.0000\n", "00000,*\\, *,\"c:\\\\*\\\\*\",0.00\n",
      "000000,\"* \\\"*\\\" *\",*,00.00\n", "00000,*,\"*\\\\\",0.0\n"},
     escaping()},
    {"crlf",
     "id,name,remark,price,note\r\n",
     {"000000,\"*, *\",\"he said \"\"no\"\"\",0.0000,\"*\"\r\n", "00000,\"*, *\",*,00.00,\"* *\"\r\n",
      "000000,*,\"the \"\"*\"\" of *, *\",0.000,\r\n", "00000,\"*, *\",\"* *\r\n*\",0.00,\"*\"\r\n"}},
    {"onebyte", "a,b,c,d\n", {"0,0,0,0\n", "0,0,0,0\n", "0,0,,0\n", "0,0,0,0\n"}},
    {"tiny", "a\n", {"0\n", "0\n", "0\n", "0\n"}},
    // Half of the records are public.
    {"people",
     "id,name,mail,phone,city,amount,date,status,note,card,code,country\n",
     {"00000000,* *,*.*@*.com,+40 000 0000000,*,0000.00,1998-11-10,public,* * * *,4000000000000000,*-000,AT\n",
      "0000000,* * *,*@*.org,+49 00 000000,* *,00.00,2011-12-20,private,* *,5000000000000000,*-0000,DE\n",
      "00000000,* *,*.*@*.com,+1 000 000 0000,* *,000.00,1987-12-10,public,* * * * *,300000000000000,*-00,US\n",
      "0000000,* *,*00@*.net,+43 000 000000,*,0.00,2024-11-20,internal,* * *,4000000000000000,*-000,NZ\n"}},
    {"people-quoted",
     "id,name,mail,phone,city,amount,date,status,note,card,code,country\n",
     {"00000000,\"*, *\",*.*@*.com,+40 000 0000000,*,0000.00,1998-11-10,public,\"he said \"\"* *\"\"\n* *\","
      "4000000000000000,*-000,AT\n",
      "0000000,\"*, * *\",\"*@*.org\",\"+49 00 000000\",\"*, *\",\"00.00\",2011-12-20,private,\"*, *\","
      "\"5000000000000000\",*-0000,\"DE\"\n",
      "00000000,* *,\"*.*@*.com\",+1 000 000 0000,\"* *\",000.00,1987-12-10,public,\"* *\n\n*, \"\"*\"\" *\","
      "300000000000000,\"*-00\",US\n",
      "0000000,\"* \"\"*\"\" *\",*00@*.net,\"+43 000 000000\",*,0.00,2024-11-20,internal,* * *,4000000000000000,"
      "*-000,NZ\n"}},
    {"any",
     "id,name,remark,price\n",
     {"000000,\"*, *\",*,0.0000\n", "00000,*,\"*\r*\",0.00\r\n", "000000,*,\"he said \"\"no\"\"\",00.00\r",
      "00000,*,*,0.0\r\n"},
     any_terminator()},
};

// The linear congruential generator of Numerical Recipes; its high bits are good enough for digits and letters.
std::uint32_t draw(std::uint32_t& seed, std::uint32_t below) {
    seed = seed * 1664525 + 1013904223;
    return static_cast<std::uint32_t>((std::uint64_t{seed} * below) >> 32);
}

}  // namespace

std::span<const Sample> samples() { return kSamples; }

const Sample& sample_by_name(std::string_view name) {
    const auto* const found = std::ranges::find(kSamples, name, &Sample::name);
    if (found != std::end(kSamples)) return *found;
    std::string names;
    for (const Sample& sample : kSamples) names.append(" ").append(sample.name);
    throw std::invalid_argument("no such kind: " + std::string(name) + "; there are" + names);
}

void append_drawn(std::string_view record, std::uint32_t& seed, std::vector<std::uint8_t>& bytes) {
    constexpr std::uint32_t kShortestWord = 2;
    constexpr std::uint32_t kLongestWord = 11;
    for (const char c : record) {
        if (c == '0') {
            bytes.push_back(static_cast<std::uint8_t>('0' + draw(seed, 10)));
        } else if (c == '*') {
            const std::uint32_t length = kShortestWord + draw(seed, kLongestWord - kShortestWord + 1);
            for (std::uint32_t i = 0; i < length; ++i) {
                bytes.push_back(static_cast<std::uint8_t>('a' + draw(seed, 26)));
            }
        } else {
            bytes.push_back(static_cast<std::uint8_t>(c));
        }
    }
}

Records make_records(const Sample& sample, std::size_t size) {
    Records records;
    std::uint32_t seed = 1;
    while (records.bytes.size() < size) {
        append_drawn(sample.templates[records.ends.size() % sample.templates.size()], seed, records.bytes);
        records.ends.push_back(records.bytes.size());
    }
    return records;
}

}  // namespace cleave
