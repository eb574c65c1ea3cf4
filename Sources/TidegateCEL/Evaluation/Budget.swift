/// How much an evaluation may still do: expressions within expressions multiply what they look at.
struct Budget {
    private var steps = 0
    private var isCheckedAt = Self.interval
    private let isCancelled: () -> Bool

    /// About a second.
    static let mostSteps = 10_000_000
    /// Between two looks at whether the evaluation is still wanted.
    private static let interval = 4096

    /// A budget that ends early once `isCancelled` says so.
    init(isCancelled: @escaping () -> Bool) { self.isCancelled = isCancelled }

    /// Takes steps off it.
    mutating func spend(_ count: Int = 1) throws(CELError) {
        self.steps += count
        guard self.steps >= self.isCheckedAt else { return }
        guard self.steps <= Self.mostSteps else {
            throw CELError("the evaluation was ended after \(Self.mostSteps) steps", isUnfinished: true)
        }
        guard !self.isCancelled() else { throw CELError("the evaluation was not finished in time", isUnfinished: true) }
        self.isCheckedAt = self.steps + Self.interval
    }

    /// Takes off it what looking at that many bytes costs.
    mutating func spend(bytes: Int) throws(CELError) { try self.spend(1 + bytes / 64) }
}
