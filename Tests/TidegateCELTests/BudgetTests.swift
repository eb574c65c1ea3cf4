import Testing
import TidegateCEL
import TidegateCore

/// Expressions that would take long.
struct BudgetTests {
    private static let large = JSONValue.array((0..<5000).map { .integer($0) })

    @Test(
        "An expression that multiplies what it looks at is ended",
        arguments: [
            "body.all(x, body.all(y, body.all(z, true)))", "body.all(x, body == body)", "body.all(x, !(-1 in body))",
            "body.map(x, body.map(y, y)).size() > 0",
        ])
    func steps(_ text: String) throws {
        let expression = try CELExpression(text, variable: "body")
        #expect {
            try expression.isTrue(of: Self.large)
        } throws: {
            "\($0)" == "the evaluation was ended after 10000000 steps"
        }
    }

    @Test("An evaluation that is no longer wanted ends")
    func cancellation() throws {
        let expression = try CELExpression("body.all(x, body.all(y, true))", variable: "body")
        #expect {
            try expression.isTrue(of: Self.large, isCancelled: { true })
        } throws: {
            "\($0)" == "the evaluation was not finished in time"
        }
    }

    @Test("Of members with one name the last one counts, and a root that is no object can be asked about, too")
    func documents() throws {
        let duplicates = try JSONValue(parsing: #"{"a": 1, "a": 2}"#.utf8)
        #expect(try CELExpression("body.a == 2", variable: "body").isTrue(of: duplicates))
        #expect(try CELExpression("body[4999] == 4999", variable: "body").isTrue(of: Self.large))
    }
}
