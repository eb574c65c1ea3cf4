extension RemoteReport {
    /// The share of its segments that were sent again, in percent with one digit: `9.1 %`; nil if none was sent.
    package var retransmissionText: String? {
        guard self.sentSegments > 0 else { return nil }
        let thousandths = (self.retransmittedSegments * 1000 + self.sentSegments / 2) / self.sentSegments
        return "\(thousandths / 10).\(thousandths % 10) %"
    }
}

extension Duration {
    /// A round trip as people read it: `< 0.1 ms`, `0.4 ms`, `18 ms`, `1.2 s`.
    package var roundTripText: String {
        let tenths = (self.wholeNanoseconds + 50_000) / 100_000
        // On one machine or one switch; a zero would say that nothing was measured.
        if tenths == 0 { return "< 0.1 ms" }
        if tenths < 100 { return "\(tenths / 10).\(tenths % 10) ms" }
        if tenths < 10_000 { return "\((tenths + 5) / 10) ms" }
        let seconds = (tenths + 500) / 1000
        return "\(seconds / 10).\(seconds % 10) s"
    }
}

extension ObservationMode {
    /// True if the live connections are listed.
    package var hasLists: Bool { self == .event || self == .poll }
}
