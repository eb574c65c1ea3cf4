internal import TidegateCore

extension WallTime {
    /// The moment as RFC 9110 5.6.7 writes it: `Fri, 20 Nov 2026 23:14:22 GMT`.
    var httpDate: String {
        let text = self.description
        let (year, month) = (text.prefix(4), Int(text.dropFirst(5).prefix(2)) ?? 1)
        let (day, clock) = (text.dropFirst(8).prefix(2), text.dropFirst(11).prefix(8))
        let days = (self.microseconds / 86_400_000_000) % 7
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return "\(weekdays[Int(max(0, days))]), \(day) \(months[max(1, month) - 1]) \(year) \(clock) GMT"
    }
}
