// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/writer.h"
#include "kube/cel/program.h"

namespace berth::cel {
namespace {

constexpr std::string_view kDocument =
    R"({"name":"web","replicas":3,"ratio":2.0,"on":true,"none":null,"port":"http","count":80,)"
    R"("tags":["a","b"],"numbers":[3,1,2],"labels":{"app":"web","x-y":"z"},"since":"2026-01-02T03:04:05.5Z",)"
    R"("wait":"1h30m","blob":"aGk=","hosts":[{"name":"h1","cpu":"500m"},{"name":"h2","cpu":"2"}],)"
    R"("for":"reserved","a-b":"dashed","esc":"x\ny","set":["p","q"],"any":{"deep":[1,2.5,"s"]}})";

TypePtr self_type() {
  const auto member = [](std::string_view key, TypePtr type) {
    return std::pair{member_name(key), Type::Member{std::string(key), std::move(type)}};
  };
  Type host{.kind = Kind::kObject};
  host.members = {member("name", simple(Kind::kString)), member("cpu", simple(Kind::kDyn)),
                  member("note", simple(Kind::kString))};
  Type self{.kind = Kind::kObject};
  self.members = {member("name", simple(Kind::kString)),
                  member("replicas", simple(Kind::kInt)),
                  member("ratio", simple(Kind::kDouble)),
                  member("on", simple(Kind::kBool)),
                  member("none", simple(Kind::kString)),
                  member("missing", simple(Kind::kString)),
                  member("port", simple(Kind::kDyn)),
                  member("count", simple(Kind::kDyn)),
                  member("tags", list_of(simple(Kind::kString))),
                  member("numbers", list_of(simple(Kind::kInt))),
                  member("labels", map_of(simple(Kind::kString))),
                  member("since", simple(Kind::kTimestamp)),
                  member("wait", simple(Kind::kDuration)),
                  member("blob", simple(Kind::kBytes)),
                  member("hosts", list_of(std::make_shared<const Type>(std::move(host)))),
                  member("for", simple(Kind::kString)),
                  member("a-b", simple(Kind::kString)),
                  member("esc", simple(Kind::kString)),
                  member("set", list_of(simple(Kind::kString), true)),
                  member("any", simple(Kind::kDyn))};
  return std::make_shared<const Type>(std::move(self));
}

std::string shown(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return value.boolean() ? "true" : "false";
    case Kind::kInt:
      return std::to_string(value.integer());
    case Kind::kUint:
      return std::to_string(value.unsigned_integer()) + "u";
    case Kind::kDouble: {
      std::string out;
      json::append_double(out, value.number());
      return out + "d";
    }
    case Kind::kString:
      return json::quoted(value.text());
    case Kind::kBytes:
      return "b" + json::quoted(value.text());
    case Kind::kDuration:
      return std::to_string(value.integer() / 1'000'000) + "ms";
    case Kind::kTimestamp:
      return "@" + std::to_string(value.integer() / 1'000'000'000);
    case Kind::kQuantity:
      return "q" + value.quantity().text();
    case Kind::kType:
      return "type " + std::string(name_of(value.type_kind()));
    case Kind::kError:
      return "error: " + std::string(value.text());
    case Kind::kList: {
      std::string out = "[";
      value.each([&](const Value& each) {
        out += (out.size() > 1 ? "," : "") + shown(each);
        return true;
      });
      return out + "]";
    }
    default:
      return "map of " + std::to_string(value.size());
  }
}

std::string evaluated(std::string_view text, std::uint64_t most = Program::kMostCost) {
  const auto program = Program::compile(text, {{"self", self_type()}, {"oldSelf", self_type()}});
  if (!program) return "refused: " + program.error().message;
  const Node self = node_of(json::Slice(kDocument));
  const Node nodes[] = {self, self};
  return shown(program->evaluate(nodes, most).value);
}

struct Row {
  const char* name;
  const char* text;
  const char* expected;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.text; }

class Evaluates : public testing::TestWithParam<Row> {};
TEST_P(Evaluates, ToWhatCelSays) {
  EXPECT_EQ(evaluated(GetParam().text), GetParam().expected) << GetParam().text;
}

constexpr Row kRows[] = {
    {"Precedence", "1 + 2 * 3 - 4 / 2", "5"},
    {"LeftToRight", "10 - 4 - 3", "3"},
    {"Parentheses", "(1 + 2) * 3", "9"},
    {"NegativeLiteral", "-9223372036854775808", "-9223372036854775808"},
    {"Negation", "-self.replicas", "-3"},
    {"DoubleNegation", "!!self.on", "true"},
    {"TruncatesDivision", "-7 / 2", "-3"},
    {"Modulus", "-7 % 3", "-1"},
    {"Hexadecimal", "0x1F", "31"},
    {"Unsigned", "3u * 2u", "6u"},
    {"Doubles", "1.5 + 2.5e0", "4d"},
    {"Overflow", "9223372036854775807 + 1", "error: integer overflow"},
    {"DivisionByZero", "1 / 0", "error: division by zero"},
    {"ModulusByZero", "1 % 0", "error: modulus by zero"},
    {"Texts", "'a' + \"b\" + r'\\n' + '''c'd'''", "\"ab\\\\nc'd\""},
    {"Escapes", "'\\x41\\u00e9\\101\\t'", "\"AéA\\t\""},
    {"Comment", "1 // one\n + 1", "2"},
    {"CrossTypeOrder", "1 < 1.5 && 2u > 1", "true"},
    {"TextOrder", "'a' < 'b'", "true"},
    {"Equality", "[1, 2] == [1, 2] && {'a': 1} == {'a': 1}", "true"},
    {"Inequality", "self.tags != ['a']", "true"},
    {"In", "'b' in self.tags && !('c' in self.tags)", "true"},
    {"InMap", "'app' in self.labels && !('nope' in self.labels)", "true"},
    {"Ternary", "self.replicas > 2 ? 'many' : 'few'", "\"many\""},
    {"TernaryTakesOneSide", "true ? 1 : 1 / 0", "1"},
    {"AndAbsorbsErrors", "1 / 0 == 1 && false", "false"},
    {"AndKeepsErrors", "1 / 0 == 1 && true", "error: division by zero"},
    {"OrAbsorbsErrors", "1 / 0 == 1 || true", "true"},
    {"OrKeepsErrors", "false || 1 / 0 == 1", "error: division by zero"},
    {"AllAbsorbsErrors", "[0, 1].all(x, 1 / x == 7)", "false"},
    {"ExistsAbsorbsErrors", "[0, 1].exists(x, 1 / x == 1)", "true"},
    {"ExistsKeepsErrors", "[0, 2].exists(x, 1 / x == 1)", "error: division by zero"},
    {"Members", "self.name + self.hosts[1].name", "\"webh2\""},
    {"Reserved", "self.__for__ + self.a__dash__b", "\"reserveddashed\""},
    {"EscapedText", "self.esc", "\"x\\ny\""},
    {"Has", "has(self.name) && !has(self.missing)", "true"},
    {"HasOfElement", "self.hosts.all(h, !has(h.note))", "true"},
    {"Missing", "self.missing == 'x'", "error: no such key: missing"},
    {"Null", "self.none == null", "true"},
    {"Index", "self.tags[0]", "\"a\""},
    {"OutOfBounds", "self.tags[2]", "error: index out of bounds: 2"},
    {"MapIndex", "self.labels['x-y']", "\"z\""},
    {"MapSelect", "self.labels.app", "\"web\""},
    {"NoSuchKey", "self.labels['q']", "error: no such key: q"},
    {"Sizes", "[size(self.tags), self.labels.size(), size('äb'), size(self.blob)]", "[2,2,2,2]"},
    {"All", "self.numbers.all(n, n > 0)", "true"},
    {"AllOfMap", "self.labels.all(k, self.labels[k] != '')", "true"},
    {"Exists", "self.hosts.exists(h, h.name == 'h2')", "true"},
    {"ExistsOne", "self.numbers.exists_one(n, n > 2)", "true"},
    {"Map", "self.numbers.map(n, n * 2)", "[6,2,4]"},
    {"MapOfSome", "self.numbers.map(n, n > 1, n * 2)", "[6,4]"},
    {"Filter", "self.numbers.filter(n, n != 1)", "[3,2]"},
    {"Nested", "self.numbers.all(a, self.numbers.exists(b, a == b))", "true"},
    {"ExactlyOne", "[has(self.name), has(self.missing)].filter(x, x).size() == 1", "true"},
    {"StartsWith", "self.name.startsWith('we') && self.name.endsWith('b')", "true"},
    {"Contains", "self.name.contains('eb')", "true"},
    {"Matches", "self.name.matches('^w.b$') && !matches(self.name, '^b')", "true"},
    {"MatchesAnywhere", "'abc'.matches('b')", "true"},
    {"MatchesChanging", "self.tags.all(t, t.matches('^' + t + '$'))", "true"},
    {"Duration", "duration('1h') < self.wait", "true"},
    {"DurationSum", "duration('1h') + duration('30m') == self.wait", "true"},
    {"Timestamp", "self.since > timestamp('2026-01-01T00:00:00Z')", "true"},
    {"TimestampDifference", "self.since - timestamp('2026-01-02T03:04:05Z')", "500ms"},
    {"TimestampSum", "timestamp('1970-01-01T00:00:00Z') + duration('2s')", "@2"},
    {"BadDuration", "duration('soon')",
     "error: type conversion error from 'string' to 'google.protobuf.Duration'"},
    {"Quantity", "quantity('500m').isLessThan(quantity('2'))", "true"},
    {"QuantityOfElement", "quantity(self.hosts[0].cpu).compareTo(quantity(self.hosts[1].cpu))",
     "-1"},
    {"QuantityEquality", "quantity('1000m') == quantity('1')", "true"},
    {"QuantitySum", "quantity('1').add(quantity('500m')).sub(1)", "q500m"},
    {"QuantityAsFloat", "quantity('1500m').asApproximateFloat()", "1.5d"},
    {"IsQuantity", "isQuantity('1Gi') && !isQuantity('much')", "true"},
    {"Conversions", "[int('7'), int(7.9), int(3u)]", "[7,7,3]"},
    {"ToText", "string(7) + string(true) + string(1.5) + string(duration('90s'))",
     "\"7true1.590s\""},
    {"ToDouble", "double('1.5') + double(1)", "2.5d"},
    {"BadConversion", "int('x')", "error: type conversion error from 'string' to 'int'"},
    {"IntOrString", "type(self.port) == string && type(self.count) == int", "true"},
    {"IntOrStringGuarded", "type(self.count) == int ? self.count > 1 : false", "true"},
    {"DynamicMismatch", "self.port + 1", "error: no such overload"},
    {"DynamicEquality", "self.port == 80", "false"},
    {"DynamicNumbers", "self.any.deep[0] == 1.0", "true"},
    {"DynamicDepth", "self.any.deep.size()", "3"},
    {"SetsHaveNoOrder", "self.set == ['q', 'p']", "true"},
    {"ListsHaveOrder", "self.tags == ['b', 'a']", "false"},
    {"WholeAsDouble", "self.ratio / 4.0", "0.5d"},
    {"OldSelf", "self.replicas >= oldSelf.replicas", "true"},
    {"Shadowing", "[1].all(self, self == 1)", "true"},
};
INSTANTIATE_TEST_SUITE_P(All, Evaluates, testing::ValuesIn(kRows),
                         [](const auto& param) { return std::string(param.param.name); });

class Refuses : public testing::TestWithParam<Row> {};
TEST_P(Refuses, AndSaysWhatAndWhere) {
  EXPECT_THAT(evaluated(GetParam().text),
              testing::StartsWith(std::string("refused: ERROR: <input>:") + GetParam().expected))
      << GetParam().text;
}

constexpr Row kRefused[] = {
    {"UnknownName", "other == 1", "1:1: undeclared reference to 'other' (in container '')"},
    {"UnknownField", "self.nope == 1", "1:5: undefined field 'nope'"},
    {"UnknownFieldOfHas", "has(self.nope)", "1:9: undefined field 'nope'"},
    {"FieldOfElement", "self.hosts.all(h, h.ip == '')", "1:20: undefined field 'ip'"},
    {"SecondLine", "true &&\nself.nope == 1", "2:5: undefined field 'nope'"},
    {"Overload", "self.replicas == 'x'",
     "1:15: found no matching overload for '_==_' applied to '(int, string)'"},
    {"OverloadOfSum", "self.name + 1",
     "1:11: found no matching overload for '_+_' applied to '(string, int)'"},
    {"OverloadOfMethod", "self.replicas.startsWith('x')",
     "1:25: found no matching overload for 'startsWith' applied to 'int.(string)'"},
    {"Order", "self.name < 3", "1:11: found no matching overload for '_<_' applied to"},
    {"Selection", "self.name.x", "1:10: type 'string' does not support field selection"},
    {"MixedList", "[1, 'a']", "1:5: expected type 'int' but found 'string'"},
    {"RangeOfScalar", "self.name.all(x, true)",
     "1:14: expression of type 'string' cannot be range"},
    {"LoopOfNumber", "self.tags.all(x, 1)", "1:18: expected type 'bool' but found 'int'"},
    {"LoopVariable", "self.tags.all(x.y, true)", "1:16: argument must be a simple name"},
    {"TwoVariables", "self.tags.all(i, v, true)", "1:14: 'all' takes a variable and an expression"},
    {"Has", "has(self)", "1:4: invalid argument to has() macro"},
    {"Foreign", "self.name.split(',').size() > 1",
     "1:16: the function 'split' is not supported by this server"},
    {"UnknownFunction", "frobnicate(1)", "1:11: undeclared reference to 'frobnicate'"},
    {"Optional", "self.?name.hasValue()", "1:5: optional values are not supported"},
    {"Message", "self{name: 'x'}", "1:5: making messages is not supported"},
    {"Bytes", "b'x' == self.blob", "1:1: literals of bytes are not supported"},
    {"Pattern", "self.name.matches('(')", "1:19: invalid matches argument"},
    {"Keyword", "self.name == if", "1:14: reserved identifier: if"},
    {"Empty", "", "1:1: Syntax error: mismatched input '<EOF>'"},
    {"Ends", "self.", "1:6: Syntax error: mismatched input '<EOF>'"},
    {"Goes_on", "1 2", "1:3: Syntax error: extraneous input '2'"},
    {"Sign", "self # 1", "1:6: Syntax error: token recognition error at: '#'"},
    {"OpenText", "'abc", "1:1: Syntax error: a text that does not end"},
    {"Escape", "'\\q'", "1:3: Syntax error: an escape that is not known"},
    {"Digits", "99999999999999999999", "1:1: invalid int literal"},
    {"AddedSets", "self.set + self.set", "1:10: adding lists of the types set and map"},
};
INSTANTIATE_TEST_SUITE_P(All, Refuses, testing::ValuesIn(kRefused),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(Complaints, MarkThePlace) {
  EXPECT_EQ(evaluated("self.nope == 1"),
            "refused: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope == 1\n | ....^");
}

TEST(Bounds, DeepNestingIsRefusedAndLongChainsAreNot) {
  EXPECT_THAT(evaluated(std::string(500, '(') + "1" + std::string(500, ')')),
              testing::HasSubstr("recursion limit exceeded"));
  EXPECT_THAT(evaluated(std::string(500, '[') + std::string(500, ']')),
              testing::HasSubstr("recursion limit exceeded"));
  std::string sum = "1", both = "true";
  for (int i = 0; i < 1'000; ++i) sum += " + 1", both += " && true";
  EXPECT_THAT(evaluated(sum), testing::HasSubstr("recursion limit exceeded"));
  EXPECT_EQ(evaluated(both), "true");
  EXPECT_EQ(evaluated(std::string(1'001, '!') + "true"), "false");
}

TEST(Bounds, CostIsCountedAndEnds) {
  const char* loops =
      "self.numbers.all(a, self.numbers.all(b, self.numbers.all(c, self.numbers.all(d, a > 0))))";
  EXPECT_EQ(evaluated(loops), "true");
  EXPECT_EQ(evaluated(loops, 100), "error: operation cancelled: actual cost limit exceeded");
  // Absorbing errors does not absorb this one.
  EXPECT_THAT(evaluated(std::string(loops) + " || true", 100), testing::HasSubstr("cost limit"));
}

TEST(Bounds, TextsThatDoubleCostWhatTheyAre) {
  std::string text = "['x']";
  for (int i = 0; i < 40; ++i) text += ".map(s, s + s)";
  EXPECT_THAT(evaluated(text), testing::HasSubstr("cost limit"));
}

TEST(Programs, KnowWhatTheyUse) {
  const auto transition = Program::compile(
      "self == oldSelf", {{"self", simple(Kind::kInt)}, {"oldSelf", simple(Kind::kInt)}});
  ASSERT_TRUE(transition);
  EXPECT_TRUE(transition->uses("oldSelf"));
  const auto plain =
      Program::compile("[1].all(oldSelf, oldSelf == self)",
                       {{"self", simple(Kind::kInt)}, {"oldSelf", simple(Kind::kInt)}});
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->uses("oldSelf"));
  EXPECT_EQ(plain->kind(), Kind::kBool);
}

TEST(MemberNames, AreEscapedAsKubernetesDoes) {
  EXPECT_EQ(member_name("a.b/c-d"), "a__dot__b__slash__c__dash__d");
  EXPECT_EQ(member_name("a__b"), "a__underscores__b");
  EXPECT_EQ(member_name("namespace"), "__namespace__");
  EXPECT_EQ(member_name("1st"), "");
  EXPECT_EQ(member_name("a b"), "");
}

}  // namespace
}  // namespace berth::cel
