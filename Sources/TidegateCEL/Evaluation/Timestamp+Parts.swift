internal import TidegateCore

extension Timestamp {
    /// A part of the moment in a time zone, as the functions of expressions count it; nil for another function.
    func part(_ function: Function, in zone: TimeZoneOffset) -> Int64? {
        let local = self.seconds + zone.seconds
        let days = local.flooredDivision(by: 86_400)
        let second = local.flooredRemainder(by: 86_400)
        let date = CivilDate(daysSince1970: days)
        switch function {
        case .getFullYear: return date.year
        case .getMonth: return date.month - 1
        case .getDate: return date.day
        case .getDayOfMonth: return date.day - 1
        // 1970 began on a Thursday.
        case .getDayOfWeek: return (days + 4).flooredRemainder(by: 7)
        case .getDayOfYear: return days - CivilDate(year: date.year, month: 1, day: 1).daysSince1970
        case .getHours: return second / 3600
        case .getMinutes: return second / 60 % 60
        case .getSeconds: return second % 60
        case .getMilliseconds: return self.nanoseconds / 1_000_000
        default: return nil
        }
    }
}
