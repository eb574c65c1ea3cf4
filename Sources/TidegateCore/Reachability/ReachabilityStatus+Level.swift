extension ReachabilityStatus {
    /// The level of this host as a whole.
    public var level: ReachabilityLevel { self.global.level }
}
