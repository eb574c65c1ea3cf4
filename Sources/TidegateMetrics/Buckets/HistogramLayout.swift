/// The cells in which a histogram counts observations.
///
/// Cells are so fine that every classic and every native bucket is a sum of whole cells. So one count per observation
/// serves both. Native buckets use schema 3: eight per power of two (Prometheus, native histograms).
final class HistogramLayout: Sendable {
    /// The number of powers of two with native buckets.
    static let octaves = 30
    static let schema: Int64 = 3
    /// The maximum number of cells: the native buckets, one cell for everything below, and one for each classic bound.
    static let capacity = 8 * HistogramLayout.octaves + 1 + HistogramLayout.maxBounds
    /// The maximum number of classic bounds.
    static let maxBounds = 31

    /// The upper bounds of the classic buckets, ascending, without the infinite one.
    let bounds: [Double]
    /// Native buckets count everything below this power of two as zero.
    let lowestExponent: Int
    /// The upper bounds of the cells, ascending; the last one is infinite.
    let ends: [Double]
    /// The classic bucket of each cell.
    let classic: [UInt8]
    /// The native bucket of each cell, counted from the lowest; 0 is the zero bucket.
    let native: [UInt16]
    // For each sixteenth of an octave, the cell of its lower end, at which the search starts.
    private let first: [UInt16]
    // The first sixteenth in `first`, as the upper bits of a Double.
    private let lowestPart: Int

    init(bounds: [Double]) {
        let bounds = Array(bounds.filter(\.isFinite).prefix(HistogramLayout.maxBounds))
        let lowest = HistogramLayout.lowestExponent(for: bounds)
        self.bounds = bounds
        self.lowestExponent = lowest
        var (ends, classic, native): ([Double], [UInt8], [UInt16]) = ([], [], [])
        var bucket = 0
        let count = 8 * HistogramLayout.octaves
        for index in 0...count {
            let end = index == count ? .infinity : HistogramLayout.upperBound(of: index + 8 * lowest)
            while bucket < bounds.count, bounds[bucket] < end {
                ends.append(bounds[bucket])
                classic.append(UInt8(bucket))
                native.append(UInt16(index))
                bucket += 1
            }
            ends.append(end)
            classic.append(UInt8(bucket))
            native.append(UInt16(index))
            if bucket < bounds.count, bounds[bucket] == end { bucket += 1 }
        }
        (self.ends, self.classic, self.native) = (ends, classic, native)
        self.lowestPart = HistogramLayout.part(of: HistogramLayout.upperBound(of: 8 * lowest))
        self.first = HistogramLayout.firstCells(ends, from: self.lowestPart)
    }

    /// The cell of an observation, which must not be NaN.
    func cell(of value: Double) -> Int {
        let part = value > 0 ? HistogramLayout.part(of: value) - self.lowestPart : -1
        var cell = part < 0 ? 0 : Int(self.first[min(part, self.first.count - 1)])
        // Usually no bound lies inside the part, and never more than a few.
        while value > self.ends[cell] { cell += 1 }
        return cell
    }

    /// The index of a native bucket in Prometheus's numbering, for buckets from 1 on.
    func key(of native: Int) -> Int64 { Int64(native + 8 * self.lowestExponent) }

    /// Native buckets count values up to here as zero.
    var zeroThreshold: Double { HistogramLayout.upperBound(of: 8 * self.lowestExponent) }

    // The exponent and the first four fraction bits: needs neither a logarithm nor a search.
    private static func part(of value: Double) -> Int { Int(value.bitPattern >> 48) }

    private static func firstCells(_ ends: [Double], from lowestPart: Int) -> [UInt16] {
        var cell = 0
        return (lowestPart...lowestPart + 16 * HistogramLayout.octaves).map { part in
            let start = Double(bitPattern: UInt64(part) << 48)
            while ends[cell] < start { cell += 1 }
            return UInt16(cell)
        }
    }

    // Places the middle of the classic bounds in the middle of the native buckets.
    private static func lowestExponent(for bounds: [Double]) -> Int {
        guard let low = bounds.first(where: { $0 > 0 })?.exponent, let high = bounds.last?.exponent else { return -15 }
        let slack = max(0, HistogramLayout.octaves - Int(high - low))
        return min(max(Int(low) - slack / 2, -1000), 1000 - HistogramLayout.octaves)
    }

    private static func upperBound(of key: Int) -> Double {
        let (octave, step) = (key >> 3, key & 7)
        let fraction = step == 0 ? 0 : HistogramLayout.fractions[step - 1]
        return Double(sign: .plus, exponent: octave, significand: 1)
            * Double(bitPattern: 0x3FF0_0000_0000_0000 | fraction)
    }

    // The fraction bits of 2^(1/8) to 2^(7/8) as a Double.
    private static let fractions: InlineArray<7, UInt64> = [
        0x172B_83C7_D517B, 0x306F_E0A3_1B715, 0x4BFD_AD53_62A27, 0x6A09_E667_F3BCD, 0x8ACE_5422_AA0DB,
        0xAE89_F995_AD3AD, 0xD581_8DCF_BA487,
    ]
}

/// The upper bounds of the histograms, in seconds or bytes.
enum Buckets {
    /// One attempt.
    static let requests: [Double] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
    /// A task, including its waits.
    static let tasks: [Double] = Buckets.requests + [30, 60, 120, 300, 600]
    /// A phase of an attempt, or a dump.
    static let phases: [Double] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    /// A round trip to a host on the way out; fine where a rise of 30 ms matters.
    static let roundTrips: [Double] = [
        0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.2, 0.4, 1,
    ]
    /// A wait for a path or for the next attempt.
    static let waits: [Double] = [0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600]
    /// From the kernel's message to the verdict.
    static let detection: [Double] = [0.000_01, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1]
    /// A count, in powers of ten and their halves.
    static let counts: [Double] = [
        0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000,
    ]
    /// A body: 1 KiB, then nine steps by a factor of four.
    static let sizes: [Double] = (0..<10).map { Double(1024 << (2 * $0)) }
}
