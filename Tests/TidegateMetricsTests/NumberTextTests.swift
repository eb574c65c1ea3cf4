import Testing
import TidegateCore

@testable import TidegateMetrics

@Suite struct NumberTextTests {
    @Test(
        "Floats are written as Go writes them",
        arguments: [
            (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (10, "10.0"), (0.005, "0.005"), (0.000_1, "0.0001"),
            (0.000_01, "1e-05"), (1e5, "100000.0"), (1e6, "1e+06"), (123_456_789, "1.23456789e+08"),
            (1_048_576, "1.048576e+06"), (1e16, "1e+16"), (.leastNonzeroMagnitude, "5e-324"), (0.1, "0.1"),
            (-2.5, "-2.5"),
            (1.5e300, "1.5e+300"), (.nan, "NaN"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (123_456.75, "123456.75"),
            (Double(Int64.max), "9.223372036854776e+18"),
        ] as [(Double, String)])
    func float(_ value: Double, _ expected: String) {
        #expect(NumberText.float(value) == expected)
    }

    @Test("The text of a number parses to the same number")
    func roundTrip() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let value = Double(bitPattern: generator.next())
            guard value.isFinite else { continue }
            #expect(Double(NumberText.float(value)) == value)
        }
    }

    @Test(
        "Sample values are whole numbers where they can be",
        arguments: [
            (0.0, "0"), (3.0, "3"), (0.25, "0.25"), (-1.0, "-1.0"), (1_790_000_000.25, "1.79000000025e+09"),
            (18_446_744_073_709_551_616.0, "1.8446744073709552e+19"),
        ] as [(Double, String)])
    func sample(_ value: Double, _ expected: String) {
        var output = ExpositionWriter(reusing: [], format: .text)
        output.gauge(SeriesName(Catalogue.gauge("a", ""), []), value)
        #expect(String(decoding: output.finish(), as: UTF8.self) == "a \(expected)\n")
    }

    @Test("Counts are written to the last digit", arguments: [0, 9, 10, 12345, UInt64.max])
    func count(_ value: UInt64) {
        var output = ExpositionWriter(reusing: [], format: .text)
        output.counter(SeriesName(Catalogue.counter("a", ""), []), value)
        #expect(String(decoding: output.finish(), as: UTF8.self) == "a \(value)\n")
    }
}
