// The radio and the MAC of the ns-3 programs with several hops: 802.11b, a or n in ad hoc mode,
// two-ray ground, ranges in metres.

#pragma once

#include "fading.h"

#include "ns3/core-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <cstdint>
#include <string>

namespace peers
{

/// What the command lines say of the radio.
struct RadioOptions
{
    std::string standard = "b";         ///< b, a or n; a and n in 20 MHz at 5 GHz
    std::string rate = "DsssRate1Mbps"; ///< data rate; everything else goes at the lowest one
    std::string manager = "";           ///< rate control in the place of the rate
    uint32_t ampdu = 0;                 ///< largest aggregate of n, bytes
    uint32_t queue = 50;                ///< packets in the MAC's queue
    double lifetime = 10;               ///< how long a packet may stay in that queue, s
    uint32_t tries = 7;                 ///< how often a frame without RTS is sent before it is given up
    bool rts = true;                    ///< RTS/CTS before every unicast frame, or never
    double range = 250;                 ///< reception range, m
    double sense = 550;                 ///< carrier sense range, m
    Fading fading;                      ///< fading over the law of path loss

    /// Add the options to a command line.
    void Register(ns3::CommandLine& commandLine)
    {
        commandLine.AddValue("standard", "b, a or n", standard);
        commandLine.AddValue("rate", "data rate, such as DsssRate1Mbps or HtMcs3", rate);
        commandLine.AddValue("manager", "rate control, such as MinstrelHt", manager);
        commandLine.AddValue("ampdu", "largest aggregate of n, bytes", ampdu);
        commandLine.AddValue("queue", "packets in the MAC's queue", queue);
        commandLine.AddValue("lifetime", "longest stay in the MAC's queue, s", lifetime);
        commandLine.AddValue("tries", "tries of a frame without RTS", tries);
        commandLine.AddValue("rts", "RTS/CTS before every unicast frame", rts);
        commandLine.AddValue("range", "reception range, m", range);
        commandLine.AddValue("sense", "carrier sense range, m", sense);
        fading.Register(commandLine);
    }
};

constexpr double TX_POWER_DBM = 24.5;
constexpr double ANTENNA_HEIGHT_M = 1.5;

/// Power received over a distance beyond the crossover (86 m at 914 MHz).
inline double
TwoRayGroundDbm(double distance)
{
    return TX_POWER_DBM + 40 * std::log10(ANTENNA_HEIGHT_M) - 40 * std::log10(distance);
}

/// Install the radio on all nodes.
inline ns3::NetDeviceContainer
InstallRadio(const ns3::NodeContainer& nodes, const RadioOptions& options)
{
    using namespace ns3;
    Config::SetDefault("ns3::WifiMacQueue::MaxSize",
                       QueueSizeValue(QueueSize(std::to_string(options.queue) + "p")));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(options.lifetime)));
    Config::SetDefault("ns3::WifiRemoteStationManager::MaxSsrc", UintegerValue(options.tries));
    Config::SetDefault("ns3::WifiRemoteStationManager::RtsCtsThreshold",
                       UintegerValue(options.rts ? 0 : 65535));

    YansWifiChannelHelper channel;
    channel.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel");
    channel.AddPropagationLoss("ns3::TwoRayGroundPropagationLossModel",
                               "Frequency", DoubleValue(914e6),
                               "HeightAboveZ", DoubleValue(ANTENNA_HEIGHT_M));
    options.fading.Add(channel);
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("TxPowerStart", DoubleValue(TX_POWER_DBM));
    phy.Set("TxPowerEnd", DoubleValue(TX_POWER_DBM));
    phy.Set("RxSensitivity", DoubleValue(TwoRayGroundDbm(options.sense)));
    phy.Set("CcaEdThreshold", DoubleValue(TwoRayGroundDbm(options.sense)));
    phy.SetPreambleDetectionModel("ns3::ThresholdPreambleDetectionModel",
                                  "MinimumRssi", DoubleValue(TwoRayGroundDbm(options.range)));

    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac");
    WifiHelper wifi;
    std::string lowest = "DsssRate1Mbps";
    wifi.SetStandard(WIFI_STANDARD_80211b);
    if (options.standard != "b")
    {
        lowest = "OfdmRate6Mbps";
        wifi.SetStandard(options.standard == "n" ? WIFI_STANDARD_80211n : WIFI_STANDARD_80211a);
        phy.Set("ChannelSettings", StringValue("{36, 20, BAND_5GHZ, 0}"));
        phy.SetErrorRateModel("ns3::NistErrorRateModel");
    }
    // Without flow control no queue disc is put above the queue of the MAC.
    wifi.DisableFlowControl();
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager",
                                 "DataMode", StringValue(options.rate),
                                 "ControlMode", StringValue(lowest),
                                 "NonUnicastMode", StringValue(lowest));
    if (!options.manager.empty())
    {
        wifi.SetRemoteStationManager("ns3::" + options.manager + "WifiManager",
                                     "NonUnicastMode", StringValue(lowest));
    }
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    if (options.standard == "n")
    {
        Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/Mac/BE_MaxAmpduSize",
                    UintegerValue(options.ampdu));
    }
    return devices;
}

/// Count every frame that any radio begins to send.
class FrameCounter
{
  public:
    explicit FrameCounter(const ns3::NetDeviceContainer& devices)
    {
        for (auto device = devices.Begin(); device != devices.End(); ++device)
        {
            ns3::DynamicCast<ns3::WifiNetDevice>(*device)->GetPhy()->TraceConnectWithoutContext(
                "PhyTxPsduBegin", ns3::MakeCallback(&FrameCounter::OnTransmit, this));
        }
    }

    /// Frames counted so far.
    uint64_t Count() const
    {
        return m_count;
    }

  private:
    /// A frame with several MPDUs is one.
    void OnTransmit(ns3::WifiConstPsduMap, ns3::WifiTxVector, double)
    {
        ++m_count;
    }

    uint64_t m_count = 0;
};

/// Fix the random streams: `run` is the number of the repetition.
inline void
SetRun(uint64_t run)
{
    ns3::RngSeedManager::SetSeed(12345);
    ns3::RngSeedManager::SetRun(run);
}

} // namespace peers
