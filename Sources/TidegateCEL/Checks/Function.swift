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

    /// The function with that name in expressions and that many arguments; nil if there is none.
    init?(name: String, argumentCount: Int) {
        self.init(rawValue: name == "-" && argumentCount == 1 ? "-_" : name)
    }
}
