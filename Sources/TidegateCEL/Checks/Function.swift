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
    case size
    case contains
    case startsWith
    case endsWith
    case matches
    case bool
    case bytes
    case double
    case duration
    case dyn
    case int
    case string
    case timestamp
    case type
    case uint
    case getDate
    case getDayOfMonth
    case getDayOfWeek
    case getDayOfYear
    case getFullYear
    case getHours
    case getMilliseconds
    case getMinutes
    case getMonth
    case getSeconds

    /// The function with that name in expressions and that many arguments; nil if there is none.
    init?(name: String, argumentCount: Int) {
        self.init(rawValue: name == "-" && argumentCount == 1 ? "-_" : name)
    }
}
