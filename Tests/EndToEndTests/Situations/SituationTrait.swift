import Testing

/// Builds the lab once, for all tests of the suite.
struct SituationTrait: SuiteTrait, TestScoping {
    // The lab is the suite's, not a test's.
    var isRecursive: Bool { false }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let lab = try await SituationLab()
        try await SituationLab.$current.withValue(lab, operation: function)
    }
}

extension Trait where Self == SituationTrait {
    static var situationLab: SituationTrait { SituationTrait() }
}
