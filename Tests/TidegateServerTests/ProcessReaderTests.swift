import Foundation
import Testing
import TidegateTestKit

@testable import TidegateMetrics

@Suite struct ProcessReaderTests {
    private let reader = ProcessReader(time: ManualTime())

    @Test("This process has statistics")
    func sample() throws {
        let sample = self.reader.sample()
        #expect(try #require(sample.cpuSeconds) > 0)
        #expect(try #require(sample.openDescriptors) >= 3)
        #expect(try #require(sample.maxDescriptors) >= 64)
        #expect(try #require(sample.virtualBytes) > 1 << 20)
        #expect(try #require(sample.residentBytes) > 1 << 20)
        #expect(try #require(sample.maxVirtualBytes) > 1e6)
        #expect(try #require(sample.threads) >= 1)
        #expect(sample.startSeconds != nil)
    }

    @Test("A process name may contain anything")
    func name() {
        var sample = ProcessSample()
        let rest = (3...52).map { String($0 * 100) }.joined(separator: " ")
        self.reader.parse(stat: "17 (a) b) S 1) \(rest)", into: &sample)
        #expect(sample.cpuSeconds == Double(1400 + 1500) / 100)
        #expect(sample.threads == 2000)
        #expect(sample.virtualBytes == 2300)
    }

    @Test("A malformed status stays unknown", arguments: ["", "17", "17 (x", "17 (x) S 1 2 3"])
    func short(_ stat: String) {
        var sample = ProcessSample()
        self.reader.parse(stat: stat, into: &sample)
        #expect(sample == ProcessSample())
    }

    @Test("Unlimited is the largest number")
    func limits() {
        let text =
            "Limit   Soft  Hard Units\nMax open files            1024   4096  files\nMax address space   unlimited unlimited bytes\n"
        #expect(ProcessReader.limit("Max open files", in: text) == 1024)
        #expect(ProcessReader.limit("Max address space", in: text) == 18_446_744_073_709_551_616)
        #expect(ProcessReader.limit("Max nothing", in: text) == nil)
    }
}
