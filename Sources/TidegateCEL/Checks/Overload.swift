/// The argument types of a function, and its result type (the standard definitions of the CEL language definition).
struct Overload: Sendable {
    let parameters: [ValueType]
    let result: ValueType
    /// True if the first argument precedes the name, as in `text.size()`.
    let isMember: Bool

    private init(_ parameters: [ValueType], _ result: ValueType, isMember: Bool = false) {
        self.parameters = parameters
        self.result = result
        self.isMember = isMember
    }

    /// The overloads of a function.
    static func all(of function: Function) -> [Overload] {
        switch function {
        case .add, .subtract, .multiply, .divide, .modulo, .negate: self.arithmetic(function)
        case .not: [Overload([.bool], .bool)]
        case .equals, .differs: [Overload([self.element, self.element], .bool)]
        case .less, .lessOrEqual, .greater, .greaterOrEqual: self.ordered.map { Overload([$0, $0], .bool) }
        case .isIn: [Overload([self.element, self.list], .bool), Overload([self.element, self.map], .bool)]
        case .index: [Overload([self.list, .int], self.element), Overload([self.map, self.element], .variable("B"))]
        case .size, .contains, .startsWith, .endsWith, .matches: self.textual(function)
        case .bool, .bytes, .double, .duration, .dyn, .int, .string, .timestamp, .type, .uint:
            self.sources(of: function).map { Overload([$0.from], $0.to) }
        case .getDate, .getDayOfMonth, .getDayOfWeek, .getDayOfYear, .getFullYear, .getMonth: self.ofTimestamps
        case .getHours, .getMilliseconds, .getMinutes, .getSeconds:
            self.ofTimestamps + [Overload([.duration], .int, isMember: true)]
        }
    }

    private static let ordered: [ValueType] = [.bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration]
    private static let element = ValueType.variable("A")
    private static let list = ValueType.list(element)
    private static let map = ValueType.map(key: element, value: .variable("B"))

    // In UTC, or in the time zone given by the argument.
    private static let ofTimestamps = [
        Overload([.timestamp], .int, isMember: true), Overload([.timestamp, .string], .int, isMember: true),
    ]

    private static func arithmetic(_ function: Function) -> [Overload] {
        let numbers: [ValueType] = [.int, .uint, .double]
        switch function {
        case .add:
            let same = numbers + [.string, .bytes, self.list, .duration]
            return same.map { Overload([$0, $0], $0) } + [
                Overload([.timestamp, .duration], .timestamp), Overload([.duration, .timestamp], .timestamp),
            ]
        case .subtract:
            return (numbers + [.duration]).map { Overload([$0, $0], $0) } + [
                Overload([.timestamp, .timestamp], .duration), Overload([.timestamp, .duration], .timestamp),
            ]
        case .modulo: return [ValueType.int, .uint].map { Overload([$0, $0], $0) }
        case .negate: return [ValueType.int, .double].map { Overload([$0], $0) }
        default: return numbers.map { Overload([$0, $0], $0) }
        }
    }

    private static func textual(_ function: Function) -> [Overload] {
        switch function {
        case .size:
            return [.string, .bytes, self.list, self.map].flatMap {
                [Overload([$0], .int), Overload([$0], .int, isMember: true)]
            }
        case .matches:
            return [Overload([.string, .string], .bool), Overload([.string, .string], .bool, isMember: true)]
        default: return [Overload([.string, .string], .bool, isMember: true)]
        }
    }

    private static func sources(of function: Function) -> [(from: ValueType, to: ValueType)] {
        let (types, result): ([ValueType], ValueType) =
            switch function {
            case .bool: ([.bool, .string], .bool)
            case .bytes: ([.bytes, .string], .bytes)
            case .double: ([.double, .int, .uint, .string], .double)
            case .duration: ([.duration, .string], .duration)
            case .int: ([.int, .uint, .double, .string, .timestamp], .int)
            case .string: ([.string, .bool, .int, .uint, .double, .bytes, .timestamp, .duration], .string)
            case .timestamp: ([.timestamp, .string, .int], .timestamp)
            case .type: ([self.element], .type)
            case .uint: ([.uint, .int, .double, .string], .uint)
            default: ([self.element], .dynamic)
            }
        return types.map { ($0, result) }
    }
}

/// A function of the standard environment; operators are functions.
enum Function: String, Sendable, CaseIterable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case modulo = "%"
    case negate = "-_"
    case not = "!"
    case equals = "=="
    case differs = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case isIn = "in"
    case index = "[]"
    case size, contains, startsWith, endsWith, matches
    case bool, bytes, double, duration, dyn, int, string, timestamp, type, uint
    case getDate, getDayOfMonth, getDayOfWeek, getDayOfYear, getFullYear, getHours, getMilliseconds, getMinutes
    case getMonth, getSeconds

    /// The function with this name in expressions and this number of arguments; nil for an unknown one.
    init?(name: String, argumentCount: Int) { self.init(rawValue: name == "-" && argumentCount == 1 ? "-_" : name) }
}
